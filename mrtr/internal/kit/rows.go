package kit

import "strings"

// Rows are those of a table. Names whose cells are equal share one.
type Rows []struct {
	names []string
	cells string
}

func (r *Rows) Add(name, cells string) {
	for i := range *r {
		if (*r)[i].cells == cells {
			(*r)[i].names = append((*r)[i].names, name)
			return
		}
	}
	*r = append(*r, struct {
		names []string
		cells string
	}{[]string{name}, cells})
}

func (r Rows) By(separator string) (rows string) {
	for _, row := range r {
		rows += "| " + strings.Join(row.names, separator) + " |" + row.cells + "\n"
	}
	return rows
}
