// SPDX-License-Identifier: Apache-2.0
//
// etcd's concurrency package as a peer of zkrecipes-bench, whose protocol bench/peer.h tells. It
// brings its three servers with it (servers.go).

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/signal"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"
	recipe "go.etcd.io/etcd/contrib/recipes"
)

type task struct {
	Run, Servers, Path    string
	Clients, Locks, Times int
	Readers               bool
	Warm, Seconds         float64
	SettleMs              int `json:"settle_ms"`
	SessionMs             int `json:"session_ms"`
}

type answer map[string]float64

func must(err error) {
	if err != nil {
		log.Fatal("etcd: ", err)
	}
}

// One client with a session of its own, and one lock.
type contestant struct {
	client  *clientv3.Client
	session *concurrency.Session
	mutex   *concurrency.Mutex
	both    *recipe.RWMutex
}

func connect(t task, suffix string) *contestant {
	client, err := clientv3.New(clientv3.Config{
		Endpoints:   strings.Split(t.Servers, ","),
		DialTimeout: 10 * time.Second,
	})
	must(err)
	ttl := t.SessionMs / 1000
	if ttl == 0 {
		ttl = 40
	}
	session, err := concurrency.NewSession(client, concurrency.WithTTL(ttl))
	must(err)
	mutex := concurrency.NewMutex(session, t.Path+suffix)
	return &contestant{client, session, mutex, recipe.NewRWMutex(session, t.Path+suffix)}
}

func (c *contestant) acquire() { must(c.mutex.Lock(context.Background())) }
func (c *contestant) release() { must(c.mutex.Unlock(context.Background())) }
func (c *contestant) cycle(readers, shared bool) {
	switch {
	case !readers:
		c.acquire()
		c.release()
	case shared:
		must(c.both.RLock())
		must(c.both.RUnlock())
	default:
		must(c.both.Lock())
		must(c.both.Unlock())
	}
}
func (c *contestant) close() {
	c.session.Close()
	c.client.Close()
}

func used() (cpuMicros, switches float64) {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	micros := func(t syscall.Timeval) float64 { return float64(t.Sec)*1e6 + float64(t.Usec) }
	return micros(usage.Utime) + micros(usage.Stime), float64(usage.Nvcsw)
}

// counted calls work, and tells what an operation used, of as many as it says.
func counted(work func() (value, operations float64)) answer {
	cpu, switches := used()
	value, operations := work()
	cpuAfter, switchesAfter := used()
	return answer{
		"value":    value,
		"cpu us":   (cpuAfter - cpu) / operations,
		"switches": (switchesAfter - switches) / operations,
	}
}

func median(micros []float64) float64 {
	sort.Float64s(micros)
	return micros[len(micros)/2]
}

func since(begin time.Time) float64 { return float64(time.Since(begin).Nanoseconds()) / 1e3 }

func cycle(t task) answer {
	c := connect(t, "")
	defer c.close()
	for i := 0; i < 50; i++ {
		c.cycle(false, false)
	}
	return counted(func() (float64, float64) {
		var micros []float64
		for i := 0; i < t.Times; i++ {
			begin := time.Now()
			c.cycle(false, false)
			micros = append(micros, since(begin))
		}
		return median(micros), float64(t.Times)
	})
}

func handOver(t task) answer {
	holder, waiter := connect(t, ""), connect(t, "")
	defer holder.close()
	defer waiter.close()
	var micros []float64
	for i := 0; i < t.Times; i++ {
		holder.acquire()
		granted := make(chan time.Time, 1)
		released := make(chan bool)
		go func() {
			waiter.acquire()
			granted <- time.Now()
			waiter.release()
			released <- true
		}()
		time.Sleep(time.Duration(t.SettleMs) * time.Millisecond)
		begin := time.Now()
		holder.release()
		micros = append(micros, float64((<-granted).Sub(begin).Nanoseconds())/1e3)
		<-released
	}
	return answer{"value": median(micros)}
}

func cycles(t task) answer {
	var contestants []*contestant
	for i := 0; i < t.Clients; i++ {
		contestants = append(contestants, connect(t, fmt.Sprint("-", i%t.Locks)))
	}
	var over, done int64
	var all sync.WaitGroup
	for i := range contestants {
		all.Add(1)
		go func(first int) {
			defer all.Done()
			for turn := first; atomic.LoadInt64(&over) == 0; turn++ {
				contestants[first].cycle(t.Readers, turn%10 != 0)
				atomic.AddInt64(&done, 1)
			}
		}(i)
	}
	sleep := func(seconds float64) { time.Sleep(time.Duration(seconds * 1e9)) }
	sleep(t.Warm)
	result := counted(func() (float64, float64) {
		before, begin := atomic.LoadInt64(&done), time.Now()
		sleep(t.Seconds)
		cycles := float64(atomic.LoadInt64(&done) - before)
		return cycles / time.Since(begin).Seconds(), cycles
	})
	atomic.StoreInt64(&over, 1)
	all.Wait()
	for _, c := range contestants {
		c.close()
	}
	return result
}

// hold and wait: the first keeps it until it is killed.
func hold(t task) answer {
	c := connect(t, "")
	c.acquire()
	if t.Run == "wait" {
		c.close()
	}
	return answer{"value": 0}
}

func main() {
	signal.Ignore(os.Interrupt) // the end of the input is the end, and what it started goes with it
	greeting := "{}"
	if len(os.Args) < 2 || os.Args[1] != "guest" {
		servers := startServers()
		defer servers.stop()
		greeting = fmt.Sprintf(`{"servers": %q}`, servers.endpoints)
	}
	fmt.Println(greeting)
	runs := map[string]func(task) answer{
		"cycle": cycle, "hand-over": handOver, "cycles": cycles, "hold": hold, "wait": hold,
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var t task
		must(json.Unmarshal(lines.Bytes(), &t))
		line, err := json.Marshal(runs[t.Run](t))
		must(err)
		fmt.Println(string(line))
	}
}
