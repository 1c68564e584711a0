package prove

import "strings"

// mutant is a state that was altered.
type mutant struct {
	what  string
	state string
}

func flipped(state string) []mutant {
	var all []mutant
	for _, at := range []struct {
		what string
		i    int
	}{{"with its first character changed", 0}, {"with a character in the middle changed", len(state) / 2}, {"with a character near its end changed", len(state) * 9 / 10}} {
		c := byte('A')
		if state[at.i] == c {
			c = 'B'
		}
		all = append(all, mutant{at.what, state[:at.i] + string(c) + state[at.i+1:]})
	}
	return all
}

func cut(state string) []mutant {
	if len(state) < 2 {
		return nil
	}
	return []mutant{
		{"without its last quarter", state[:len(state)-(len(state)+3)/4]},
		{"without its first half", state[len(state)/2:]},
		{"cut to its first character", state[:1]},
	}
}

func extended(state string) []mutant {
	return []mutant{{"with x appended", state + "x"}, {"with AAAA appended", state + "AAAA"}, {"with x put before it", "x" + state}}
}

func garbage(string) []mutant {
	return []mutant{
		{"the word garbage", "garbage"}, {"an empty JSON object", "{}"}, {"the word null", "null"},
		{"a control character", "\x00"}, {"text that is no ASCII", "état"},
	}
}

func large(string) []mutant { return []mutant{{"a megabyte of A", strings.Repeat("A", 1<<20)}} }

func respelled(t *trial) {
	t.tampered(func(state string) []mutant {
		var all []mutant
		add := func(what, other string) {
			if other != state {
				all = append(all, mutant{what, other})
			}
		}
		if read(state) != nil {
			return nil
		}
		add("with padding appended", state+"=")
		add("with a line end appended", state+"\n")
		add("in the other base64 alphabet", strings.NewReplacer("-", "+", "_", "/", "+", "-", "/", "_").Replace(state))
		add("without padding", strings.TrimRight(state, "="))
		if last, ok := trailingBits(state); ok {
			add("with the unused bits of its last character changed", last)
		}
		return all
	})
}

const base64Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// trailingBits changes the bits of the last character that encode nothing.
func trailingBits(state string) (string, bool) {
	part := state[strings.LastIndexByte(state, '.')+1:]
	i := strings.IndexByte(base64Alphabet+"-_", state[len(state)-1])
	if len(part)%4 < 2 || i < 0 || i >= len(base64Alphabet)-1 {
		return "", false
	}
	return state[:len(state)-1] + string((base64Alphabet + "-_")[i^1]), true
}
