package mrtr

// MustBuild is [Steps.Build] for lists that are part of the program: it panics
// where the list cannot work.
func (b *Steps[In, Out]) MustBuild() Style[In, Out] {
	s, err := b.Build()
	if err != nil {
		panic(err)
	}
	return s
}
