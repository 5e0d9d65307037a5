#!/bin/sh
# Playwright makes Firefox end with the first process of a page that is killed. Some tests kill one, and go on.
unset MOZ_CRASHREPORTER_SHUTDOWN
exec "$FIREFOX" "$@"
