// SPDX-License-Identifier: Apache-2.0
//
// Apache Curator as a peer of zkrecipes-bench, whose protocol bench/peer.h tells.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.retry.ExponentialBackoffRetry;

public class Curator {
  // One client with a session of its own, and one lock.
  static class Contestant implements AutoCloseable {
    final CuratorFramework client;
    final InterProcessLock write;
    final InterProcessLock read;

    Contestant(Map<String, String> task, String suffix, boolean readers) throws Exception {
      int session = Integer.parseInt(task.getOrDefault("session_ms", "40000"));
      client = CuratorFrameworkFactory.builder().connectString(task.get("servers"))
          .sessionTimeoutMs(session).retryPolicy(new ExponentialBackoffRetry(100, 5))
          .maxCloseWaitMs(1).build();
      client.start();
      client.blockUntilConnected();
      String path = task.get("path") + suffix;
      InterProcessReadWriteLock both = readers ? new InterProcessReadWriteLock(client, path) : null;
      write = readers ? both.writeLock() : new InterProcessMutex(client, path);
      read = readers ? both.readLock() : null;
    }

    void cycle(boolean shared) throws Exception {
      (shared ? read : write).acquire();
      (shared ? read : write).release();
    }

    public void close() { client.close(); }
  }

  // What this process has used: microseconds of the processor, switches of threads that wait.
  static double[] used() throws Exception {
    var system =
        (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    double switches = 0;
    try (var threads = Files.list(Path.of("/proc/self/task"))) {
      for (Path thread : (Iterable<Path>) threads::iterator) {
        try {
          for (String line : Files.readAllLines(thread.resolve("status"))) {
            if (line.startsWith("voluntary")) switches += Double.parseDouble(line.split("\\s+")[1]);
          }
        } catch (java.io.IOException e) {
          continue;  // that thread has ended
        }
      }
    }
    return new double[] {system.getProcessCpuTime() / 1e3, switches};
  }

  static String answer(double value, double[] before, double[] after, double operations) {
    return String.format("{\"value\": %.1f, \"cpu us\": %.1f, \"switches\": %.2f}", value,
        (after[0] - before[0]) / operations, (after[1] - before[1]) / operations);
  }

  static double median(double[] values) {
    Arrays.sort(values);
    return values[values.length / 2];
  }

  static String cycle(Map<String, String> task) throws Exception {
    double[] micros = new double[Integer.parseInt(task.get("times"))];
    try (Contestant contestant = new Contestant(task, "", false)) {
      for (int i = 0; i < 50; ++i) contestant.cycle(false);
      double[] before = used();
      for (int i = 0; i < micros.length; ++i) {
        long begin = System.nanoTime();
        contestant.cycle(false);
        micros[i] = (System.nanoTime() - begin) / 1e3;
      }
      double[] after = used();
      return answer(median(micros), before, after, micros.length);
    }
  }

  static String handOver(Map<String, String> task) throws Exception {
    double[] micros = new double[Integer.parseInt(task.get("times"))];
    try (Contestant holder = new Contestant(task, "", false);
        Contestant waiter = new Contestant(task, "", false)) {
      for (int i = 0; i < micros.length; ++i) {
        holder.write.acquire();
        AtomicLong granted = new AtomicLong();
        Thread thread = start(() -> {
          waiter.write.acquire();
          granted.set(System.nanoTime());
          waiter.write.release();
        });
        Thread.sleep(Integer.parseInt(task.get("settle_ms")));
        long begin = System.nanoTime();
        holder.write.release();
        thread.join();
        micros[i] = (granted.get() - begin) / 1e3;
      }
    }
    return "{\"value\": " + median(micros) + "}";
  }

  static volatile boolean over;

  static String cycles(Map<String, String> task) throws Exception {
    int clients = Integer.parseInt(task.get("clients"));
    int locks = Integer.parseInt(task.get("locks"));
    boolean readers = task.get("readers").equals("true");
    List<Contestant> contestants = new ArrayList<>(Collections.nCopies(clients, null));
    inParallel(clients, i -> contestants.set(i, new Contestant(task, "-" + i % locks, readers)));
    over = false;
    AtomicLong done = new AtomicLong();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < clients; ++i) {
      int first = i;
      threads.add(start(() -> {
        for (int turn = first; !over; ++turn) {
          contestants.get(first).cycle(readers && turn % 10 != 0);
          done.incrementAndGet();
        }
      }));
    }
    sleep(task.get("warm"));
    double[] before = used();
    long doneBefore = done.get(), begin = System.nanoTime();
    sleep(task.get("seconds"));
    double cycles = done.get() - doneBefore, seconds = (System.nanoTime() - begin) / 1e9;
    double[] after = used();
    over = true;
    for (Thread thread : threads) thread.join();
    // seconds, but of waiting only
    for (Contestant contestant : contestants) start(contestant::close);
    return answer(cycles / seconds, before, after, Math.max(1, cycles));
  }

  // "hold" and "wait": the first keeps it until it is killed.
  static String hold(Map<String, String> task) throws Exception {
    Contestant contestant = new Contestant(task, "", false);
    contestant.write.acquire();
    if (task.get("run").equals("wait")) start(contestant::close);
    return "{\"value\": 0}";
  }

  interface Work { void run() throws Exception; }
  interface WorkOfOne { void run(int i) throws Exception; }

  static void inParallel(int n, WorkOfOne work) throws Exception {
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < n; ++i) {
      int one = i;
      threads.add(start(() -> work.run(one)));
    }
    for (Thread thread : threads) thread.join();
  }

  static Thread start(Work work) {
    Thread thread = new Thread(() -> {
      try {
        work.run();
      } catch (Exception e) {
        e.printStackTrace();
        System.exit(1);
      }
    });
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  static void sleep(String seconds) throws Exception {
    Thread.sleep((long) (Double.parseDouble(seconds) * 1e3));
  }

  // Of one flat object: all that the protocol has.
  static Map<String, String> parse(String line) {
    Map<String, String> task = new HashMap<>();
    Matcher m = Pattern.compile("\"(\\w+)\":\\s*(?:\"([^\"]*)\"|([^,}]*))").matcher(line);
    while (m.find()) task.put(m.group(1), m.group(2) != null ? m.group(2) : m.group(3));
    return task;
  }

  public static void main(String[] arguments) throws Exception {
    System.out.println("{}");
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      Map<String, String> task = parse(line);
      switch (task.get("run")) {
        case "cycle": System.out.println(cycle(task)); break;
        case "hand-over": System.out.println(handOver(task)); break;
        case "cycles": System.out.println(cycles(task)); break;
        default: System.out.println(hold(task));
      }
    }
    System.exit(0);
  }
}
