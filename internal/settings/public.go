package settings

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ninepocket/access/keys"
)

// Public returns the settings that a support bundle may have: those whose field has the tag public. The tag is
// "yes" for numbers and booleans, "duration", or the words that a text may have. Other values become "***".
func (c *Merged) Public() map[string]any {
	builtIn := keys.DefaultPlans()
	aliases := map[string]string{}
	public := map[string]any{}

	c.eachSetting(func(setting *Setting, name string, whole *Config) {
		if setting.public == "" {
			return
		}
		// A name of a plan is its operator's word.
		shown := name
		if _, known := builtIn[name]; name != "" && !known {
			if aliases[name] == "" {
				aliases[name] = fmt.Sprintf("plan%d", len(aliases)+1)
			}
			shown = aliases[name]
		}
		public[dotted(setting.path(shown))] = setting.publicValue(whole, name)
	})
	return public
}

// publicValue returns the value, or "***" for a text that the tag does not allow.
func (s *Setting) publicValue(whole *Config, name string) any {
	value := s.value(whole, name)
	texts, _ := value.([]string)
	if text, is := value.(string); is {
		texts = []string{text}
	}
	for _, text := range texts {
		_, err := time.ParseDuration(text)
		if (s.public != "duration" || err != nil) && !slices.Contains(strings.Fields(s.public), text) {
			return "***"
		}
	}
	return value
}
