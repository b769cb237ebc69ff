// Package browser drives a headless Chromium over the DevTools protocol, for
// the tests of the page and for the picture in the README.
//
// A [Tab] collects what the page writes to the console, what it throws and what
// it asks of others than the server that it came from; [Tab.Problems] returns
// it. Close ends the browser, whose profile is an empty
// temporary folder.
package browser

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Names are the programs that will do.
var Names = []string{"chromium", "chromium-browser", "google-chrome"}

// Tab is an open page.
type Tab struct {
	ctx   context.Context
	close []func()

	mu       sync.Mutex
	problems []string // guarded by mu
	origin   string   // of the page, with the slash after it; guarded by mu
}

// Open starts the browser at path and opens no page yet.
func Open(ctx context.Context, path string) (*Tab, error) {
	profile, err := os.MkdirTemp("", "plimsoll-chromium-*")
	if err != nil {
		return nil, err
	}
	t := &Tab{close: []func(){func() { os.RemoveAll(profile) }}}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.NoSandbox, chromedp.NoFirstRun, chromedp.Headless, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("no-proxy-server", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.WSURLReadTimeout(time.Minute),
	}
	allocator, end := chromedp.NewExecAllocator(ctx, options...)
	t.close = append(t.close, end)
	t.ctx, end = chromedp.NewContext(allocator)
	t.close = append(t.close, end)
	chromedp.ListenTarget(t.ctx, t.heard)
	if err := chromedp.Run(t.ctx, log.Enable(), runtime.Enable(), network.Enable()); err != nil {
		t.Close()
		return nil, fmt.Errorf("browser: %s: %w", path, err)
	}
	return t, nil
}

// heard keeps errors and warnings.
func (t *Tab) heard(event any) {
	var problem string
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if !t.foreign(e.Request.URL) {
			return
		}
		problem = "request to another server: " + e.Request.URL
	case *runtime.EventExceptionThrown:
		problem = "exception: " + e.ExceptionDetails.Error()
	case *runtime.EventConsoleAPICalled:
		if e.Type != runtime.APITypeError && e.Type != runtime.APITypeWarning && e.Type != runtime.APITypeAssert {
			return
		}
		problem = "console: " + string(e.Type)
		for _, a := range e.Args {
			problem += " " + string(a.Value) + a.Description
		}
	case *log.EventEntryAdded:
		if e.Entry.Level != log.LevelError && e.Entry.Level != log.LevelWarning {
			return
		}
		problem = "log: " + e.Entry.Text + " " + e.Entry.URL
	default:
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.problems = append(t.problems, problem)
}

// foreign reports whether a request goes to another server than the page's.
func (t *Tab) foreign(url string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.origin == "" || !strings.HasPrefix(url, t.origin)
}

// Problems returns errors and warnings of the page so far.
func (t *Tab) Problems() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string{}, t.problems...)
}

// Look sets the window's size in CSS pixels, the pixels per CSS pixel, and the
// color scheme: light or dark.
func (t *Tab) Look(width, height int64, ratio float64, scheme string) error {
	return chromedp.Run(t.ctx,
		emulation.SetDeviceMetricsOverride(width, height, ratio, width < 600),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
}

// Go loads a page.
func (t *Tab) Go(page string) error {
	u, err := url.Parse(page)
	if err != nil {
		return fmt.Errorf("browser: %w", err)
	}
	t.mu.Lock()
	t.origin = u.Scheme + "://" + u.Host + "/"
	t.mu.Unlock()
	return chromedp.Run(t.ctx, chromedp.Navigate(page))
}

// Eval runs a script and stores its value in into, unless that is nil.
func (t *Tab) Eval(script string, into any) error {
	return chromedp.Run(t.ctx, chromedp.Evaluate(script, into, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
}

// Until runs a script until its value, awaited, is true, or fails after the
// given time. A script that throws has not come true yet, and neither has one
// that a navigation has ended.
func (t *Tab) Until(script string, limit time.Duration) error {
	safe := "(async () => { try { return !!(await (" + script + ")); } catch { return false; } })()"
	over := time.NewTimer(limit)
	defer over.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		var done bool
		err := t.Eval(safe, &done)
		if err == nil && done {
			return nil
		}
		select {
		case <-over.C:
			return fmt.Errorf("browser: not within %v: %s: %w", limit, script, errors.Join(errNever, err))
		case <-t.ctx.Done():
			return fmt.Errorf("browser: %s: %w", script, t.ctx.Err())
		case <-tick.C:
		}
	}
}

var errNever = errors.New("it did not come true")

// Show makes the demonstration's page look at once and returns when it shows
// the second at.
func (t *Tab) Show(at time.Time, limit time.Duration) error {
	if err := t.Eval(`document.dispatchEvent(new Event("visibilitychange"))`, nil); err != nil {
		return err
	}
	return t.Until(fmt.Sprintf(`document.documentElement.dataset.drawn === "%d"`, at.Unix()), limit)
}

// Click clicks on the element that a CSS selector finds.
func (t *Tab) Click(selector string) error {
	return chromedp.Run(t.ctx, chromedp.Click(selector, chromedp.ByQuery))
}

// Hover moves the pointer to a point.
func (t *Tab) Hover(x, y float64) error {
	return chromedp.Run(t.ctx, chromedp.MouseEvent("mouseMoved", x, y))
}

// Press presses keys; see package kb of chromedp for those without a letter.
func (t *Tab) Press(keys string) error { return chromedp.Run(t.ctx, chromedp.KeyEvent(keys)) }

// Shot returns a picture of what is seen, as PNG.
func (t *Tab) Shot() ([]byte, error) {
	var png []byte
	err := chromedp.Run(t.ctx, chromedp.ActionFunc(func(ctx context.Context) (err error) {
		png, err = page.CaptureScreenshot().WithFormat(page.CaptureScreenshotFormatPng).Do(ctx)
		return err
	}))
	return png, err
}

// Whole returns a picture of the whole page, as PNG.
func (t *Tab) Whole() ([]byte, error) {
	var png []byte
	err := chromedp.Run(t.ctx, chromedp.ActionFunc(func(ctx context.Context) (err error) {
		png, err = page.CaptureScreenshot().WithFormat(page.CaptureScreenshotFormatPng).WithCaptureBeyondViewport(true).Do(ctx)
		return err
	}))
	return png, err
}

// Close ends the browser.
func (t *Tab) Close() {
	for _, end := range slices.Backward(t.close) {
		end()
	}
}
