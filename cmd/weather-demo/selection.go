package main

import (
	"strings"

	"github.com/mrtr-go/sdk/options"
)

// selection is which calls to play.
type selection struct {
	styles    []options.Option
	eras      []era
	locations []string
}

// narrow applies the flags of the command line. A place may be unknown: the call
// then ends in the tool's error.
func (s *selection) narrow(style, only, location string) error {
	if style != "" {
		o, err := findStyle(style)
		if err != nil {
			return err
		}
		s.styles = []options.Option{o}
	}
	switch only {
	case "":
	case string(modern), string(legacy):
		s.eras = []era{era(only)}
	default:
		return usageError{unknown("era", only, []string{string(modern), string(legacy)})}
	}
	if location != "" {
		s.locations = []string{location}
	}
	return nil
}

// preferOne reduces the selection to one call.
func (s *selection) preferOne(location string, named bool) {
	s.styles, s.eras = s.styles[:1], s.eras[:1]
	if !named {
		s.locations = []string{location}
	}
}

func findStyle(name string) (options.Option, error) {
	var names []string
	for _, o := range everyStyle() {
		if strings.EqualFold(name, o.Letter) || name == o.Name || name == o.Tool() {
			return o, nil
		}
		names = append(names, o.Name)
	}
	return options.Option{}, usageError{unknown("style", name, names)}
}

// each calls f with every call of the selection.
func (s selection) each(f func(plannedCall) error) error {
	for _, o := range s.styles {
		for _, e := range s.eras {
			for _, location := range s.locations {
				if err := f(plannedCall{option: o, era: e, location: location}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
