package statecodec

import "strings"

// checkText refuses text that can be read as a key in two ways: as hexadecimal with
// a digit too few or mistyped, and as base64 of something else. About a third of a
// random secret in base64 are hexadecimal digits, and of 43 characters not once in
// 10^13 more than nine tenths.
func checkText(text string) error {
	digits := 0
	for _, b := range []byte(text) {
		if '0' <= b && b <= '9' || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F' {
			digits++
		}
	}
	switch {
	case digits == len(text) && digits%2 == 1:
		return &UsageError{message: "a key in hexadecimal text has an odd number of digits: one is missing, or one too many"}
	case digits < len(text) && digits*10 > len(text)*9:
		return &UsageError{message: "a key is neither hexadecimal text nor likely to be base64: most of it are hexadecimal digits, not all"}
	}
	return nil
}

// checkSecret refuses secrets that nobody drew at random: fewer than eight different
// bytes, one piece that is repeated, or bytes that count up or down. Of random keys
// not one in 10^30 is such.
func checkSecret(secret []byte) error {
	var seen [256]bool
	different := 0
	for _, b := range secret {
		if !seen[b] {
			seen[b] = true
			different++
		}
	}
	if different < 8 || repeats(string(secret)) || counts(secret) {
		return &UsageError{message: "a key must be random bytes, not a pattern: make one with GenerateKey, or with a tool such as openssl rand -base64 32"}
	}
	return nil
}

// repeats reports whether a secret is one piece again and again, the last time
// perhaps cut.
func repeats(secret string) bool {
	for size := 1; size <= len(secret)/2; size++ {
		if strings.HasPrefix(secret, secret[size:]) {
			return true
		}
	}
	return false
}

func counts(secret []byte) bool {
	for i := 2; i < len(secret); i++ {
		if secret[i]-secret[i-1] != secret[1]-secret[0] {
			return false
		}
	}
	return true
}
