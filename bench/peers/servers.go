// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io/ioutil"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/etcd/clientv3"
)

// Three etcd servers on this machine. Their data is in memory, since ZooKeeper's is not synced to a
// disk either.
type servers struct {
	endpoints string // "127.0.0.1:20001,127.0.0.1:20002,127.0.0.1:20003"
	directory string
	processes []*exec.Cmd
}

func freePort() int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

func startServers() *servers {
	directory, err := ioutil.TempDir("/dev/shm", "zkrecipes-bench-etcd-")
	must(err)
	s := &servers{directory: directory}
	var clients, peers, cluster []string
	for i := 0; i < 3; i++ {
		clients = append(clients, fmt.Sprint("127.0.0.1:", freePort()))
		peers = append(peers, fmt.Sprint("http://127.0.0.1:", freePort()))
		cluster = append(cluster, fmt.Sprintf("m%d=%s", i, peers[i]))
	}
	s.endpoints = strings.Join(clients, ",")
	for i := range clients {
		name := fmt.Sprint("m", i)
		server := exec.Command("etcd", "--name", name, "--data-dir", filepath.Join(directory, name),
			"--log-level", "error", "--logger", "zap", "--listen-client-urls", "http://"+clients[i],
			"--advertise-client-urls", "http://"+clients[i],
			"--listen-peer-urls", peers[i], "--initial-advertise-peer-urls", peers[i],
			"--initial-cluster", strings.Join(cluster, ","))
		server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		must(server.Start())
		s.processes = append(s.processes, server)
	}
	s.awaitLeader(clients)
	return s
}

func (s *servers) awaitLeader(endpoints []string) {
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: 20 * time.Second})
	must(err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, err = client.Put(ctx, "up", "")
	must(err)
}

func (s *servers) stop() {
	for _, server := range s.processes {
		server.Process.Kill()
		server.Wait()
	}
	os.RemoveAll(s.directory)
}
