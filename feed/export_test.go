package feed

// PullOn is Pull on another disk.
var PullOn = pullOn
