//go:build unix

package fleet

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Clock is the wall clock of a process, which runs on as its kernel's does until it is moved. The
// clock by which the process measures how much time has passed stays right.
//
// A Go program has no library between it and the kernel that another one could replace. It asks a
// page of code that the kernel maps into each process. A Clock overwrites that code.
type Clock struct {
	mem   *os.File // of the process
	ahead int64    // where the seconds are that it adds
}

// wallClock is clock_gettime for amd64: it asks the kernel, and adds seconds to the wall clock. They
// are the last eight bytes.
var wallClock = []byte{
	0xb8, 228, 0, 0, 0, // mov eax, SYS_clock_gettime
	0x0f, 0x05, // syscall
	0x85, 0xff, // test edi, edi: is it CLOCK_REALTIME?
	0x75, 10, // jnz over the next two
	0x48, 0x8b, 0x15, 6, 0, 0, 0, // mov rdx, [rip+6]
	0x48, 0x01, 0x16, // add [rsi], rdx
	0xc3,       // ret
	0x90, 0x90, // nop, nop
	0, 0, 0, 0, 0, 0, 0, 0,
}

// Clock takes the process's clock over, on linux/amd64.
func (p *Process) Clock(ctx context.Context) (*Clock, error) {
	from, to, err := p.kernelCode()
	if err != nil {
		return nil, err
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", p.Pid()), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	image := make([]byte, to-from)
	if _, err := mem.ReadAt(image, from); err != nil {
		return nil, err
	}
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, err
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == "__vdso_clock_gettime" })
	code := to - int64(len(wallClock)) // the last page is empty behind the file
	if i < 0 || len(bytes.Trim(image[code-from:], "\x00")) > 0 {
		return nil, fmt.Errorf("no such code, or no room behind it, in %v", symbols)
	}
	asked := from + int64(symbols[i].Value)
	jump := binary.LittleEndian.AppendUint32([]byte{0xe9}, uint32(code-asked-5))
	if err := p.Halt(ctx); err != nil { // while a thread is in the code, it may not change
		return nil, err
	}
	_, err = mem.WriteAt(wallClock, code)
	if err == nil {
		_, err = mem.WriteAt(jump, asked)
	}
	return &Clock{mem, to - 8}, errors.Join(err, p.Thaw())
}

// kernelCode is where the kernel's code is in the memory of the process.
func (p *Process) kernelCode() (from, to int64, err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.Pid()))
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(line, "[vdso]\n") {
			_, err = fmt.Sscanf(line, "%x-%x", &from, &to)
		}
	}
	return from, to, err
}

// Move makes it wrong by so many seconds, or right again.
func (c *Clock) Move(ahead time.Duration) error {
	_, err := c.mem.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(ahead/time.Second)), c.ahead)
	return err
}
