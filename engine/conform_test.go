package engine_test

import (
	"path/filepath"
	"testing"
	"time"

	"ninepocket/engine/enginetest"
	"ninepocket/internal/disk/disktest"
	"ninepocket/snapshot"
)

func TestDirIsASource(t *testing.T) {
	enginetest.TestSource(t, func(t *testing.T) enginetest.Store {
		d := snapshot.OpenStore(t.TempDir())
		return enginetest.Store{
			Source: d,
			Add: func(c *snapshot.Catalog) string {
				m, _, err := d.Write(c, snapshot.WriteOptions{})
				if err != nil {
					t.Fatal(err)
				}
				return m.ID
			},
			Publish: func(id string) {
				if _, err := d.Publish(id,
					snapshot.PublishOptions{
						Now:   time.Now(),
						Check: func(*snapshot.Catalog) error { return nil },
					}); err != nil {
					t.Error(err)
				}
			},
			Damage: func(id, section string) {
				path := filepath.Join(d.Path(id), section)
				if section != "manifest" {
					path += ".msgpack.zst"
				}

				disktest.FlipBit(t, path)
			},
		}
	})
}
