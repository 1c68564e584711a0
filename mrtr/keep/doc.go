// Package keep is for those who write a keeper, the layer that decides whether a round runs and
// remembers what it came to, and for layers that keep records of their own beside it. Package
// durable is a [Keeper] over a store, and most servers take that: see Options.Durable of package
// mrtr. The author of a tool needs none of this.
//
// A round is a [Turn] here. Who runs it gets [Notes] to write its effects down, and its [Outcome]
// is what every equal request gets.
package keep
