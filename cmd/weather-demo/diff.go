package main

// pair is one line of each of two texts. A side is nil where only the other text
// has a line.
type pair struct{ left, right *string }

func (p pair) same() bool { return p.left != nil && p.right != nil && *p.left == *p.right }

// align pairs the lines of two texts: the longest common subsequence on equal
// lines, and the differing lines between them side by side.
func align(left, right []string) []pair {
	// shared[i][j] counts the lines that left[i:] and right[j:] have in common.
	shared := make([][]int, len(left)+1)
	shared[len(left)] = make([]int, len(right)+1)
	for i := len(left) - 1; i >= 0; i-- {
		shared[i] = make([]int, len(right)+1)
		for j := len(right) - 1; j >= 0; j-- {
			if left[i] == right[j] {
				shared[i][j] = shared[i+1][j+1] + 1
			} else {
				shared[i][j] = max(shared[i+1][j], shared[i][j+1])
			}
		}
	}
	var pairs []pair
	for i, j := 0, 0; i < len(left) || j < len(right); {
		from, to := i, j
		for i < len(left) || j < len(right) {
			if i < len(left) && j < len(right) && left[i] == right[j] {
				break
			}
			if j == len(right) || i < len(left) && shared[i+1][j] >= shared[i][j+1] {
				i++
			} else {
				j++
			}
		}
		for n := range max(i-from, j-to) {
			var p pair
			if from+n < i {
				p.left = &left[from+n]
			}
			if to+n < j {
				p.right = &right[to+n]
			}
			pairs = append(pairs, p)
		}
		if i < len(left) && j < len(right) {
			pairs = append(pairs, pair{&left[i], &right[j]})
			i, j = i+1, j+1
		}
	}
	return pairs
}
