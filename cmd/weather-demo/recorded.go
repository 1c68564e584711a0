package main

import (
	"context"

	"github.com/mrtr-go/sdk/options"
)

type recorded struct {
	*run
	scene
	moments []moment
}

func playRecorded(ctx context.Context, o options.Option, e era, location string) (*recorded, error) {
	r := &recorded{scene: scene{option: o, era: e, location: location, answers: firstChoices}}
	r.watch = func(m moment) { r.moments = append(r.moments, m) }
	var err error
	r.run, err = r.scene.play(ctx)
	return r, err
}
