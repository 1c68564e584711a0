//go:build unix

package fleet

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Go asks the kernel for the time without a library in between, which another one could replace. So a
// program that is to have a wrong clock is built with a package time that adds what a file says.
const (
	clockVariable = "MRTR_CLOCK"
	rightNow      = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	wrongNow      = rightNow + "\tsec += atomic.LoadInt64(ahead)\n"
	aheadFile     = `package time

import (
	"syscall"
	"unsafe"
)

// ahead is by how many seconds the wall clock is.
var ahead = func() *int64 {
	path, _ := syscall.Getenv("` + clockVariable + `")
	file, err := syscall.Open(path, syscall.O_RDONLY, 0)
	if err != nil {
		return new(int64)
	}
	page, err := syscall.Mmap(file, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	return (*int64)(unsafe.Pointer(&page[0]))
}()
`
)

// WrongClock builds the test in this folder as a program with a wall clock of its own, which move moves
// in all of its processes. The clock that measures how much time has passed is right.
func WrongClock(t testing.TB) (program string, move func(ahead time.Duration)) {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, text []byte) (path string) {
		path = filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	source, err := os.ReadFile(filepath.Join(folder, "time.go"))
	if err != nil || !strings.Contains(string(source), rightNow) {
		t.Fatalf("time.Now is not as it was: %v", err)
	}
	text := strings.Replace(string(source), rightNow, wrongNow, 1)
	text = strings.Replace(text, "import (\n", "import (\n\t\"sync/atomic\"\n", 1)
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(folder, "time.go"):  write("time.go", []byte(text)),
		filepath.Join(folder, "ahead.go"): write("ahead.go", []byte(aheadFile)),
	}})
	if err != nil {
		t.Fatal(err)
	}
	program = Build(t, ".", "test", "-c", "-overlay", write("overlay.json", overlay))
	clock := write("clock", make([]byte, 8))
	t.Setenv(clockVariable, clock)
	return program, func(ahead time.Duration) {
		file, err := os.OpenFile(clock, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(ahead/time.Second)), 0); err != nil {
			t.Fatal(err)
		}
	}
}
