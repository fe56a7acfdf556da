package jobs

// Watch makes the method watch available to tests.
var Watch = Jobs.watch
