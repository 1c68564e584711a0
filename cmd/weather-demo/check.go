package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/mrtr-go/sdk/boundary/transcript"
)

const checkAbout = `Reads a conversation with a model as JSON, from FILE or, for -, from stdin, and
finds each tool use that is not followed by its result. A model's API refuses
such a conversation. The status is 1 if anything was found.

  weather-demo check chat.json
  weather-demo check chat.json -repair > repaired.json`

// check looks for tool uses without a result in a conversation.
func check(_ context.Context, c command, args []string, t terminal) error {
	f := c.flags()
	repair := f.Bool("repair", false, "print the repaired conversation, and the repairs on stderr")
	style := f.String("style", "", "the `style` of the conversation, messages or sampling (default: detected)")
	files, err := c.parse(f, args, t)
	if err != nil {
		return err
	}
	conversation, err := readConversation(files[0], *style, t)
	if err != nil {
		return err
	}
	if *repair {
		return repaired(conversation, t)
	}
	p := printerFor(t.out)
	findings := conversation.Check()
	for _, finding := range findings {
		writeFinding(p, p.bad, finding.String())
	}
	fmt.Fprintf(p, "%s in %s, %s style\n", count(len(findings), "fault"), count(conversation.Len(), "message"), conversation.Style())
	if len(findings) > 0 {
		return errFound
	}
	return nil
}

func repaired(conversation *transcript.Transcript, t terminal) error {
	p := printerFor(t.err)
	fixed, repairs := conversation.Repair()
	for _, r := range repairs {
		writeFinding(p, p.good, r.String())
	}
	fmt.Fprintf(p, "%s\n", count(len(repairs), "repair"))
	_, err := fmt.Fprintf(t.out, "%s\n", strings.TrimRight(string(fixed.Bytes()), "\n"))
	return err
}

func readConversation(file, style string, t terminal) (*transcript.Transcript, error) {
	var in io.Reader = t.in
	if file != "-" {
		f, err := os.Open(file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, usageError{fmt.Sprintf("there is no file %s", file)}
		}
		if err != nil {
			return nil, usageError{err.Error()}
		}
		defer f.Close()
		in = f
	}
	var conversation *transcript.Transcript
	var err error
	switch transcript.Style(style) {
	case "":
		conversation, err = transcript.Read(in)
	case transcript.Messages, transcript.Sampling:
		conversation, err = transcript.ReadAs(in, transcript.Style(style))
	default:
		return nil, usageError{unknown("style", style, []string{string(transcript.Messages), string(transcript.Sampling)})}
	}
	var malformed *transcript.Error
	if errors.As(err, &malformed) {
		return nil, fmt.Errorf("%s is not a conversation: %w", file, err)
	}
	return conversation, err
}

// writeFinding puts the place on a line of its own, before the explanation.
func writeFinding(p printer, how func(string) string, text string) {
	place, rest, _ := strings.Cut(text, ": ")
	fmt.Fprintln(p, how(place))
	p.hang("    ", rest, plain)
}
