// Package compact reads and writes records in few bytes: fields without names, and
// text in which the frequent pieces of JSON take one byte each.
//
// The pieces are fixed. Text is never compared with other text of the record, except
// with the key of its own object, which is no secret: the length of a record tells
// nothing of one part by another.
package compact

// Bytes below 0x20 do not occur in compact JSON, and hardly in text. Here they stand
// for something else.
const (
	endOfText = 0x00
	literal   = 0x01 // the next byte, less 0x20, stands for itself
	keyPiece  = 0x02 // the key of the object

	firstPiece = 0x03
)

// pieces are those of the forms that questions ask for, and of their answers. Their
// order is part of the format.
var pieces = [...]string{
	`{"type":"object","properties":{"`,
	`":{"type":"string"`,
	`":{"type":"boolean"`,
	`":{"type":"integer"`,
	`":{"type":"number"`,
	`":{"type":"array","items":{"`,
	`,"enum":["`,
	`"]}},"required":["`,
	`}},"required":["`,
	`"]}`,
	`","`,
	`":"`,
	`{"`,
	`"}`,
	`,"description":"`,
	`,"title":"`,
	`,"oneOf":[{"const":"`,
	`anyOf":[{"const":"`,
	`"},{"const":"`,
	`","title":"`,
	`"}]}`,
	`,"format":"`,
	`,"minimum":`,
	`,"maximum":`,
	`,"minLength":`,
	`,"maxLength":`,
	`,"default":`,
	`],"uniqueItems":true,"maxItems":`,
	`},"`,
}

// piecesBy are the numbers of the pieces that begin with a byte, the longest first.
var piecesBy = func() (by [256][]byte) {
	for i, piece := range pieces {
		numbers := append(by[piece[0]], byte(i))
		for j := len(numbers) - 1; j > 0 && len(pieces[numbers[j]]) > len(pieces[numbers[j-1]]); j-- {
			numbers[j], numbers[j-1] = numbers[j-1], numbers[j]
		}
		by[piece[0]] = numbers
	}
	return by
}()

// special are the bytes that cannot be copied as they are: those that stand for
// something else, and those that a piece begins with.
var special = func() (is [256]bool) {
	for c := range is {
		is[c] = c < 0x20 || piecesBy[c] != nil
	}
	return is
}()

// appendShortened writes text with the longest piece at each place in one byte.
func appendShortened[T string | []byte](b []byte, text T, key string) []byte {
	for i := 0; i < len(text); {
		start := i
		for i < len(text) && !special[text[i]] {
			i++
		}
		b = append(b, text[start:i]...)
		if i == len(text) {
			break
		}
		c := text[i]
		if c < 0x20 {
			b = append(b, literal, c+0x20)
			i++
			continue
		}
		number, size := pieceAt(text[i:])
		if size == 0 {
			b = append(b, c)
			i++
			continue
		}
		b = append(b, firstPiece+number)
		i += size
		// Between quotation marks, the name of a property is likely to be the key.
		if end := i + len(key); key != "" && text[i-1] == '"' && end < len(text) && text[end] == '"' && string(text[i:end]) == key {
			b = append(b, keyPiece)
			i = end
		}
	}
	return b
}

func pieceAt[T string | []byte](text T) (number byte, size int) {
	for _, number := range piecesBy[text[0]] {
		piece := pieces[number]
		if len(text) >= len(piece) && string(text[:len(piece)]) == piece {
			return number, len(piece)
		}
	}
	return 0, 0
}

// expandedLen is the length of a text that has been shortened, -1 if it has not been.
func expandedLen(b []byte, key string) int {
	n := len(b)
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c >= 0x20:
		case c == literal:
			if i++; i == len(b) || b[i] < 0x20 || b[i] >= 0x40 {
				return -1
			}
			n--
		case c == keyPiece:
			if key == "" {
				return -1
			}
			n += len(key) - 1
		default:
			n += len(pieces[c-firstPiece]) - 1
		}
	}
	return n
}

// appendExpanded undoes appendShortened for a text that expandedLen accepts.
func appendExpanded(b, text []byte, key string) []byte {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c >= 0x20:
			b = append(b, c)
		case c == literal:
			i++
			b = append(b, text[i]-0x20)
		case c == keyPiece:
			b = append(b, key...)
		default:
			b = append(b, pieces[c-firstPiece]...)
		}
	}
	return b
}
