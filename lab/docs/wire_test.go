package docs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/statecodec"
)

// The README's picture of the wire is drawn from a call that is made here, on two servers of
// which the first is stopped. Draw it anew with go test ./docs -run TestThePicture -update.
func TestThePictureOfTheWireIsOfARealCall(t *testing.T) {
	key, card := statecodec.GenerateKey(), &options.Card{}
	send := func(request wire.Request) *wire.Reply {
		rt, err := mrtr.New(&mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{key}}})
		require.NoError(t, err)
		defer rt.Close()
		server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
		mrtr.AddTool(server, &mcp.Tool{Name: request.Name}, options.Native(rt, card))
		client, err := wire.Connect(t.Context(), server, nil)
		require.NoError(t, err)
		defer client.Close()
		reply, err := client.Send(t.Context(), request)
		require.NoError(t, err)
		return reply
	}
	request := wire.Request{Name: "weather", Arguments: map[string]string{"location": "Lisbon"}}
	first := send(request)
	require.Len(t, first.Asks, 1)
	question := first.Asks[0]
	request.State, request.Responses = first.State, map[string]any{question.Key: wire.Value("metric")(question)}
	last := send(request)
	require.Equal(t, []string{"charged the card for Lisbon"}, card.Charges())

	call := picture{}
	call.at(0, "client", "server A", "weather Lisbon")
	call.run(0, "server A", "runs, and asks")
	call.at(1, "server A", "client", "“"+question.Message+"”  + sealed state")
	call.stop(1, "server A")
	call.think(1, "the user thinks; no server holds anything")
	call.at(2, "client", "server B", "the same, + metric, + the state")
	call.run(2, "server B", "runs again, charges once")
	call.at(3, "server B", "client", last.Text)
	require.NotEmpty(t, palettes)
	for name, colours := range palettes {
		file, drawn := "docs/wire-"+name+".svg", call.draw(colours)
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(drawn), 0o644))
		}
		kept, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, drawn, string(kept), file)
	}
}

// The colours of the page: ground, ink, quiet ink, the client, the server, the sealed state,
// the effect, and what is refused.
type palette struct{ ground, ink, quiet, client, server, paper, effect, gone string }

var palettes = map[string]palette{
	"light": {"#ffffff", "#14181e", "#5d6775", "#1a53c5", "#0a6860", "#f4d48d", "#8022b5", "#b3221b"},
	"dark":  {"#12161c", "#eceff4", "#929daa", "#8fb7ff", "#5ed3c4", "#e9c375", "#d9a4ff", "#ff9287"},
}

var lanes = map[string]int{"client": 90, "server A": 520, "server B": 690}

// Each message is shown for as long as the last one is not, and all are shown where the reader
// wants no motion.
const (
	messages, seconds = 4, 12
	top, between      = 66, 62
)

// picture is a call over time, which runs down.
type picture struct{ shapes strings.Builder }

// add draws shapes that come with a message.
func (p *picture) add(message int, format string, args ...any) {
	fmt.Fprintf(&p.shapes, `<g class="m%d">`+format+"</g>\n", append([]any{message}, args...)...)
}

func (p *picture) at(message int, from, to, says string) {
	y, x1, x2 := top+message*between, lanes[from], lanes[to]
	who, head := "client", -8
	if to == "client" {
		who, head = "server", 8
	}
	p.add(message, `<path class="%s" d="M%d %dH%dm%d -5l%d 5l%d 5"/><text class="on" x="%d" y="%d">%s</text>`,
		who, x1, y, x2, head, -head, head, (lanes["client"]+lanes["server A"])/2, y-8, says)
	if message == 1 || message == 2 { // an envelope goes along
		p.add(message, `<g class="fly%d"><rect class="paper" x="-13" y="%d" width="26" height="18" rx="2"/><path class="fold" d="M-13 %dl13 10l13 -10"/></g>`, message, y-9, y-8)
	}
}

func (p *picture) run(message int, where, does string) {
	x, y := lanes[where], top+message*between
	p.add(message, `<rect class="run" x="%d" y="%d" width="10" height="%d" rx="2"/><text x="%d" y="%d">%s</text>`, x-5, y+4, between-8, x+14, y+36, does)
	if strings.Contains(does, "charges") {
		p.add(message, `<circle class="effect" cx="%d" cy="%d" r="6"/>`, x, y+between/2)
	}
}

func (p *picture) stop(message int, where string) {
	x, y := lanes[where], top+message*between
	p.add(message, `<path class="gone" d="M%d %dl12 12m0 -12l-12 12"/><text class="red" x="%d" y="%d">stopped</text>`, x-6, y+12, x+14, y+23)
}

func (p *picture) think(message int, says string) {
	p.add(message, `<text class="dim" x="%d" y="%d">%s</text>`, lanes["client"]+16, top+message*between+32, says)
}

func (p *picture) draw(c palette) string {
	const width, height = 900, top + 3*between + 34
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="A call over two servers: the first asks and is stopped, the second finishes it from the sealed state.">`+"\n<style>\n", width, height)
	fmt.Fprintf(&b, "text{font:13px system-ui,sans-serif;fill:%s}.head{font-weight:600;text-anchor:middle}.on{text-anchor:middle}.dim{fill:%s}.red{fill:%s}\n", c.ink, c.quiet, c.gone)
	fmt.Fprintf(&b, "path{fill:none;stroke-width:2}.client{stroke:%s}.server,.lane{stroke:%s}.lane{stroke-width:1;stroke-dasharray:3 4}.run{fill:%s}\n", c.client, c.server, c.server)
	fmt.Fprintf(&b, ".paper{fill:%s;stroke:%s}.fold{stroke:%s;stroke-width:1}.effect{fill:%s}.gone{stroke:%s}\n", c.paper, c.ink, c.ink, c.effect, c.gone)
	for m := 1; m <= 2; m++ {
		from, to := lanes["server A"], lanes["client"]
		if m == 2 {
			from, to = lanes["client"], lanes["server B"]
		}
		rests := to + 24
		if m == 2 {
			rests = from + 24
		}
		fmt.Fprintf(&b, ".fly%d{transform:translateX(%dpx)}\n", m, rests)
		begin := 100 * m / (messages + 1)
		fmt.Fprintf(&b, "@keyframes fly%d{0%%,%d%%{transform:translateX(%dpx)}%d%%,100%%{transform:translateX(%dpx)}}\n", m, begin, from, begin+8, to)
	}
	b.WriteString("@media (prefers-reduced-motion:no-preference){\n")
	for m := range messages {
		begin := 100 * m / (messages + 1)
		fmt.Fprintf(&b, "@keyframes m%d{0%%,%d%%{opacity:0}%d%%,97%%{opacity:1}100%%{opacity:0}}.m%d{animation:m%d %ds infinite}\n", m, begin, begin+3, m, m, seconds)
	}
	fmt.Fprintf(&b, ".fly1{animation:fly1 %ds infinite ease-in-out}.fly2{animation:fly2 %ds infinite ease-in-out}\n}\n</style>\n", seconds, seconds)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="14" fill="%s"/>`+"\n", width, height, c.ground)
	for _, lane := range []string{"client", "server A", "server B"} {
		fmt.Fprintf(&b, `<text class="head" x="%d" y="24">%s</text><path class="lane" d="M%d 34V%d"/>`+"\n", lanes[lane], lane, lanes[lane], height-14)
	}
	b.WriteString(p.shapes.String() + "</svg>\n")
	return b.String()
}
