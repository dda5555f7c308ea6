"""Storage of live queries: files on disk or in an object store, the input log, the lease, and full disks."""
