package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/mrtr-go/sdk/boundary/transcript"
)

const checkAbout = `usage: mrtr check [-repair] [-style messages|sampling] FILE

It reads a conversation with a model as JSON, from FILE or, for -, from stdin, and
finds each tool use that is not followed by its result. A model's API refuses such a
conversation.

  mrtr check chat.json
  mrtr check -repair chat.json > repaired.json

`

const checkEpilog = `
It exits with 0 if every tool use has its result, or was repaired, with 1 if one has
none, and with 2 if FILE holds no conversation.
`

// check is the command line of mrtr check.
type check struct {
	repair bool
	style  string
	file   string
}

func (c *check) flags() *flag.FlagSet {
	fs := flag.NewFlagSet("check", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.BoolVar(&c.repair, "repair", false, "print the repaired conversation, and the repairs on stderr")
	fs.StringVar(&c.style, "style", "", "the `style` of the conversation, messages or sampling (default: detected)")
	return fs
}

// parse takes flags before the file and behind it.
func (c *check) parse(args []string) error {
	fs := c.flags()
	if err := fs.Parse(args); err != nil {
		return err
	}
	if c.file = fs.Arg(0); c.file == "" {
		return errors.New("name a file, or - for stdin")
	}
	if err := fs.Parse(fs.Args()[1:]); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("one file is enough, and %q follows", fs.Arg(0))
	}
	return nil
}

// runCheck looks for tool uses without a result in a conversation.
func runCheck(args []string, out, errOut io.Writer) status {
	var c check
	if err := c.parse(args); err != nil {
		return misread(err, "check", helpCheck, out, errOut)
	}
	conversation, err := c.read()
	if err != nil {
		fmt.Fprintln(errOut, "mrtr check:", err)
		return statusMisused
	}
	if c.repair {
		return repair(conversation, out, errOut)
	}
	faults := conversation.Check()
	for _, fault := range faults {
		writeFault(out, fault.String())
	}
	fmt.Fprintf(out, "%s in %s, %s style\n", counted(len(faults), "fault"), counted(conversation.Len(), "message"), conversation.Style())
	if len(faults) > 0 {
		return statusFound
	}
	return statusClean
}

// repair prints the repaired conversation.
func repair(conversation *transcript.Transcript, out, errOut io.Writer) status {
	fixed, repairs := conversation.Repair()
	for _, r := range repairs {
		writeFault(errOut, r.String())
	}
	fmt.Fprintln(errOut, counted(len(repairs), "repair"))
	if _, err := fmt.Fprintf(out, "%s\n", strings.TrimRight(string(fixed.Bytes()), "\n")); err != nil {
		fmt.Fprintln(errOut, "mrtr check:", err)
		return statusMisused
	}
	return statusClean
}

func (c *check) read() (*transcript.Transcript, error) {
	in := os.Stdin
	if c.file != "-" {
		f, err := os.Open(c.file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	var conversation *transcript.Transcript
	var err error
	switch style := transcript.Style(c.style); style {
	case "":
		conversation, err = transcript.Read(in)
	case transcript.Messages, transcript.Sampling:
		conversation, err = transcript.ReadAs(in, style)
	default:
		return nil, fmt.Errorf("-style: there is no style %q: messages or sampling", c.style)
	}
	var malformed *transcript.Error
	if errors.As(err, &malformed) {
		return nil, fmt.Errorf("%s is not a conversation: %w", c.file, err)
	}
	return conversation, err
}

// writeFault puts the place on a line of its own, above the explanation.
func writeFault(w io.Writer, text string) {
	const indent, width = "    ", 80
	place, rest, _ := strings.Cut(text, ": ")
	fmt.Fprintln(w, place)
	line := ""
	for word := range strings.FieldsSeq(rest) {
		if line != "" && len(indent)+utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			fmt.Fprintln(w, indent+line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	fmt.Fprintln(w, indent+line)
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func helpCheck(w io.Writer, _ []string) error {
	fmt.Fprint(w, checkAbout)
	fs := new(check).flags()
	fs.SetOutput(w)
	fs.PrintDefaults()
	_, err := io.WriteString(w, checkEpilog)
	return err
}
