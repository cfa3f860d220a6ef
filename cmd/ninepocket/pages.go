package main

import (
	"ninepocket/server"
	"ninepocket/site"
)

// pages are the public pages, nil when they are switched off.
func (c *config) pages(base string) (*site.Pages, error) {
	if c.NoSite {
		return nil, nil //nolint:nilnil // no pages are no error
	}
	return site.New(site.Options{BaseURL: base})
}

// openImages opens the folder of card images, nil when none is given.
func (c *config) openImages() (*server.Images, error) {
	if c.Images == "" {
		return nil, nil //nolint:nilnil // no folder is no error
	}
	return server.OpenImages(c.Images)
}

// imageLists is how the engine asks which images there are; nil without a folder.
func imageLists(images *server.Images) func() (func(file string) bool, error) {
	if images == nil {
		return nil
	}
	return images.List
}
