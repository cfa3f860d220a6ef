package access

// ErrLocked is what [OpenEmbedded] fails with while another process has the state directory.
var ErrLocked = errLocked
