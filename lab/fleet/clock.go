//go:build unix

package fleet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
	"unsafe"
)

// Clock is the wall clock of a process, which runs on as its kernel's does until it is moved. The
// clock by which the process measures how much time has passed stays right.
//
// A Go program has no library between it and the kernel that another one could replace. Its runtime
// keeps a pointer to the code that tells the time. A Clock puts code of this package there.
type Clock struct {
	memory *os.File // of the process
}

var (
	clockAhead  int64   // the seconds that wallClock adds
	wallClockAt uintptr // where wallClock is; 0 where there is none for the machine
)

// Clock takes over the clock of a process that is this binary.
func (p *Process) Clock() (*Clock, error) {
	if wallClockAt == 0 {
		return nil, errors.ErrUnsupported
	}
	from, to, err := ownCode()
	if err != nil {
		return nil, err
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", p.Pid()), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	teller, err := timeTeller(memory, from, to)
	if err != nil {
		return nil, err
	}
	_, err = memory.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(wallClockAt)), teller)
	return &Clock{memory}, err
}

// Move makes it wrong by so many seconds, or right again.
func (c *Clock) Move(ahead time.Duration) error {
	_, err := c.memory.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(ahead/time.Second)), int64(uintptr(unsafe.Pointer(&clockAhead))))
	return err
}

// timeTeller is the address of runtime.vdsoClockgettimeSym. No program may name it, so it is read
// off the first instruction of time.now that uses it.
func timeTeller(memory io.ReaderAt, from, to uintptr) (int64, error) {
	const aligned = 32 // as functions are
	for pc := from; pc < to; pc += aligned {
		f := runtime.FuncForPC(pc)
		if f == nil || f.Name() != "time.now" {
			continue
		}
		code := make([]byte, 4*aligned)
		if _, err := memory.ReadAt(code, int64(f.Entry())); err != nil {
			return 0, err
		}
		before, after, loads := bytes.Cut(code, []byte{0x48, 0x8b, 0x05}) // movq offset(ip), ax
		if !loads || len(after) < 4 {
			break
		}
		offset := int32(binary.LittleEndian.Uint32(after))
		return int64(f.Entry()) + int64(len(before)) + 7 + int64(offset), nil
	}
	return 0, errors.New("this program does not tell the time as Go's did")
}

// ownCode is where the code of this program is.
func ownCode() (from, to uintptr, err error) {
	maps, err := os.ReadFile("/proc/self/maps")
	for line := range strings.Lines(string(maps)) {
		if _, err := fmt.Sscanf(line, "%x-%x r-xp", &from, &to); err == nil && from <= wallClockAt && wallClockAt < to {
			return from, to, nil
		}
	}
	return 0, 0, errors.Join(err, errors.New("the kernel does not say where this program is"))
}
