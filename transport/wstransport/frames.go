package wstransport

import (
	"bufio"
	"encoding/binary"
	"net"
	"net/http"
)

// frames follows the headers of the frames that a peer sends, because the library takes a
// close frame of one byte, which RFC 6455 forbids, for one without a code.
type frames struct {
	header  []byte
	payload uint64 // of the frame that is passing, what has not come yet
	badEnd  bool   // a close frame of one byte has come
}

func (f *frames) pass(data []byte) {
	for len(data) > 0 {
		if f.payload > 0 {
			n := min(f.payload, uint64(len(data)))
			f.payload -= n
			data = data[n:]
			continue
		}
		f.header = append(f.header, data[0])
		data = data[1:]
		f.read()
	}
}

// read reads the header of a frame once it is whole.
func (f *frames) read() {
	h := f.header
	if len(h) < 2 {
		return
	}
	size, length := 2, uint64(h[1]&0x7f)
	switch length {
	case 126:
		size += 2
	case 127:
		size += 8
	}
	if h[1]&0x80 != 0 { // masked
		size += 4
	}
	if len(h) < size {
		return
	}
	switch length {
	case 126:
		length = uint64(binary.BigEndian.Uint16(h[2:]))
	case 127:
		length = binary.BigEndian.Uint64(h[2:])
	}
	f.badEnd = f.badEnd || h[0]&0x0f == 8 && length == 1
	f.header, f.payload = h[:0], length
}

// framedConn is a connection whose frames are followed. One reader reads it.
type framedConn struct {
	net.Conn
	frames frames
}

func (c *framedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.frames.pass(p[:n])
	return n, err
}

// framing has a connection that is taken over followed. The library reads it from the
// start, and refuses a client that did not wait for the answer to its handshake.
type framing struct{ http.ResponseWriter }

func (w framing) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	return &framedConn{Conn: conn}, buffered, nil
}
