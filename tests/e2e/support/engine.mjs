// The engine of the browser that the tests run in. The environment variable E2E_ENGINE names its file in engines/.
//
// An engine has a `name`, and `backends`, the places where it keeps IndexedDB. `lacks` says what of the things that a test may
// need it has not, and why:
//
// - quota: a limit of an origin's space, given at the start or set by `limit`
// - resizing: such a limit that changes while the browser runs
// - levelDB: IndexedDB in LevelDB
// - clear: clearing a site's data, by `clear`
// - freezing: pages whose process can be stopped, and goes on
// - apart: workers that go on while their page hangs
// - fineTimes: times in parts of a millisecond
// - asking: synchronous requests that let no message in
// - crash: the end of a page's process, by `crash` or `kill`; both return once the browser has noticed
// - restart: data that stays when a driven browser ends
// - storage: navigator.storage
// - files: logs in files of the origin
// - locators: finding elements as people do
// - frames, workers: running code in them
// - removal: frames that are removed give back what they had, and settle their promises
// - stack: no rejection that is unhandled because the stack ended
// - extensions: a browser with an extension, by `startExtension`
// - installing: an extension in the profile of a browser that is not driven, by `install`
// - private: a private window, by `startPrivate`
// - serviceEnds: the end of a service worker that is idle, or by `endServiceWorkers`
// - node: a test that runs in Node is run with one engine only
//
// `start` gives a driven browser: as much of a Playwright context as the tests use. `share` gives a part of a browser that tests
// share, and `reset` ends the browsers that are shared. `insecure` gives an origin for a server that makes no secure context, and the
// arguments of a browser that finds it. `bare` is the command of a browser without a driver. `isNotice` says of an
// uncaught error that it is none.

export const { default: engine } = await import(`./engines/${process.env.E2E_ENGINE}.mjs`);
