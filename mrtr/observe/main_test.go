package observe_test

import (
	"testing"

	"github.com/mrtr-go/sdk/mrtr/internal/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }
