package stdio

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// line is one line of the input, without its end.
type line struct {
	text   []byte // nil if it is longer than a message may be
	length int
	err    error // the end of the input
}

// readLines reads the input until its end. It is a goroutine of its own because a read
// of the standard input cannot be interrupted.
func (c *conn) readLines() {
	in := bufio.NewReaderSize(c.options.Reader, 64<<10)
	for {
		l := readLine(in, c.options.MaxMessageBytes)
		if l.length <= c.options.MaxMessageBytes && len(bytes.TrimSpace(l.text)) == 0 && l.err == nil {
			continue
		}
		select {
		case c.incoming <- l:
		case <-c.closed:
			return
		}
		if l.err != nil {
			return
		}
	}
}

// readLine reads to the end of a line and keeps up to limit bytes of it. The last line
// needs no end.
func readLine(in *bufio.Reader, limit int) line {
	var l line
	for {
		part, err := in.ReadSlice('\n')
		part, ended := bytes.CutSuffix(part, []byte("\n"))
		if l.length += len(part); l.length <= limit {
			l.text = append(l.text, part...)
		} else {
			l.text = nil
		}
		switch {
		case ended || err == io.EOF && len(bytes.TrimSpace(l.text)) > 0:
			return l
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			l.err = err
			return l
		}
	}
}
