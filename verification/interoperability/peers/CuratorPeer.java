// SPDX-License-Identifier: Apache-2.0
//
// Apache Curator as a participant: peer.h tells the protocol.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryForever;
import org.apache.zookeeper.data.Stat;

public class CuratorPeer {
  static CuratorFramework client;

  interface Recipe {
    void acquire() throws Exception;
    void release() throws Exception;
    int participants() throws Exception;  // as the recipe itself counts them
  }

  interface Count { Collection<?> get() throws Exception; }

  static Recipe of(InterProcessLock lock, Count count) {
    return new Recipe() {
      public void acquire() throws Exception { lock.acquire(); }
      public void release() throws Exception { lock.release(); }
      public int participants() throws Exception { return count.get().size(); }
    };
  }

  static class Latch implements Recipe {
    final String path;
    LeaderLatch latch;
    Latch(String path) { this.path = path; }
    public void acquire() throws Exception {
      latch = new LeaderLatch(client, path, "curator");
      latch.start();
      latch.await();
    }
    public void release() throws Exception { latch.close(); }
    public int participants() throws Exception { return latch.getParticipants().size(); }
  }

  static class Selector implements Recipe {
    final String path;
    LeaderSelector selector;
    CountDownLatch over;
    Selector(String path) { this.path = path; }
    public void acquire() throws Exception {
      CountDownLatch leads = new CountDownLatch(1);
      CountDownLatch mayEnd = new CountDownLatch(1);
      CountDownLatch ended = new CountDownLatch(1);
      over = mayEnd;
      selector = new LeaderSelector(client, path, new LeaderSelectorListenerAdapter() {
        public void takeLeadership(CuratorFramework unused) throws Exception {
          leads.countDown();
          mayEnd.await();
        }
      });
      selector.setId("curator");
      selector.start();
      // An attempt that lost its connection is over, and says nothing.
      while (!leads.await(1, TimeUnit.SECONDS)) selector.requeue();
    }
    public void release() throws Exception {
      over.countDown();
      while (selector.hasLeadership()) Thread.sleep(1);
      selector.close();
    }
    public int participants() throws Exception { return selector.getParticipants().size(); }
  }

  static Recipe make(String recipe, String path) {
    if (recipe.equals("latch")) return new Latch(path);
    if (recipe.equals("selector")) return new Selector(path);
    if (recipe.equals("semaphore")) {
      return of(new InterProcessSemaphoreMutex(client, path), java.util.List::of);
    }
    if (recipe.equals("mutex")) {
      InterProcessMutex mutex = new InterProcessMutex(client, path);
      return of(mutex, mutex::getParticipantNodes);
    }
    InterProcessReadWriteLock both = new InterProcessReadWriteLock(client, path);
    InterProcessMutex side = recipe.equals("read") ? both.readLock() : both.writeLock();
    return of(side, side::getParticipantNodes);
  }

  static synchronized void say(String line) { System.out.println(line); }

  // Of the rounds: with the time, by CLOCK_MONOTONIC.
  static void note(String what, String more) { say(what + " " + System.nanoTime() + " " + more); }

  // Its own node below the path, as "NODE TOKEN SESSION"; null: it has none.
  static String own(String path) throws Exception {
    long session = client.getZookeeperClient().getZooKeeper().getSessionId();
    for (String child : client.getChildren().forPath(path)) {
      Stat stat = client.checkExists().forPath(path + "/" + child);
      if (stat == null || stat.getEphemeralOwner() != session) continue;
      return path + "/" + child + " " + stat.getCzxid() + " " + session;
    }
    return null;
  }

  // Rounds until it is killed or its input ends.
  static void rounds(Recipe recipe, String path) throws Exception {
    for (;;) {
      note("invoke", "");
      boolean held = false;
      try {
        recipe.acquire();
        held = true;
        String own = own(path);
        if (own != null) note("grant", own);
        Thread.sleep((long) (Math.random() * 20));
      } catch (Exception e) {
        note("failed", "UNAVAILABLE: " + e);
      }
      if (!held) continue;
      note("release", "");
      try {
        recipe.release();
        note("released", "OK");
      } catch (Exception e) {
        note("released", "UNAVAILABLE: " + e);
      }
    }
  }

  // Looks at its lock for ever: "look TIME PLAIN TOLD", whether isAcquiredInThisProcess says so,
  // and whether, besides, no listener was told SUSPENDED or LOST since.
  static void believe(String path) throws Exception {
    AtomicBoolean told = new AtomicBoolean();
    client.getConnectionStateListenable().addListener((unused, state) -> {
      if (!state.isConnected()) told.set(true);
    });
    InterProcessMutex mutex = new InterProcessMutex(client, path);
    note("invoke", "");
    mutex.acquire();
    note("grant", own(path));
    for (;;) {
      long at = System.nanoTime();
      boolean plain = mutex.isAcquiredInThisProcess();
      say("look " + at + " " + plain + " " + (plain && !told.get()));
      Thread.sleep(5);
    }
  }

  // A client that never gives up.
  static CuratorFramework connected(String servers, String milliseconds) {
    CuratorFramework made = CuratorFrameworkFactory.builder().connectString(servers)
        .sessionTimeoutMs(Integer.parseInt(milliseconds)).retryPolicy(new RetryForever(50)).build();
    made.start();
    return made;
  }

  // Contends for ever, and works only while it is told nothing that forbids it.
  static void hold(String servers, String path, String milliseconds, int who) {
    String me = path + " " + who;
    AtomicBoolean works = new AtomicBoolean();
    Semaphore lost = new Semaphore(0);
    CuratorFramework own = connected(servers, milliseconds);
    own.getConnectionStateListenable().addListener((unused, state) -> {
      if (!works.get()) return;
      boolean over = state == ConnectionState.LOST;
      note(over ? "lost" : state.isConnected() ? "go" : "stop", me);
      if (!over) return;
      works.set(false);
      lost.release();
    });
    for (;;) {
      try {
        InterProcessMutex mutex = new InterProcessMutex(own, path);
        mutex.acquire();
        note("grant", me);
        works.set(true);
        lost.acquire();
        mutex.release();
      } catch (Exception e) {
        works.set(false);
        note("failed", me + " " + e);
      }
    }
  }

  static void holdAll(String[] arguments) {
    for (int i = 0; i < 2 * Integer.parseInt(arguments[3]); ++i) {
      for (int j = 4; j < arguments.length; ++j) {
        int who = i;
        String milliseconds = arguments[j];
        String path = arguments[2] + "/" + milliseconds + "-" + who / 2;
        new Thread(() -> hold(arguments[0], path, milliseconds, who)).start();
      }
    }
  }

  interface Work { void run() throws Exception; }

  // A recipe's calls come from one thread: Curator's locks belong to the thread that acquired them.
  static void run(ExecutorService thread, String id, Work work) {
    thread.execute(() -> {
      try {
        work.run();
      } catch (Exception e) {
        say("failed " + id + " " + e);
      }
    });
  }

  public static void main(String[] arguments) throws Exception {
    if (arguments[1].equals("hold")) {
      holdAll(arguments);
      return;
    }
    client = connected(arguments[0], arguments[1]);
    client.blockUntilConnected();
    say("ready");
    Map<String, Recipe> recipes = new HashMap<>();
    Map<String, String> paths = new HashMap<>();
    Map<String, ExecutorService> threads = new HashMap<>();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] words = line.split(" ");
      String id = words[1];
      if (words[0].equals("make")) {
        paths.put(id, words[3]);
        recipes.put(id, make(words[2], words[3]));
        threads.put(id, Executors.newSingleThreadExecutor());
        continue;
      }
      Recipe recipe = recipes.get(id);
      switch (words[0]) {
        case "acquire":
          run(threads.get(id), id, () -> { recipe.acquire(); say("granted " + id); });
          break;
        case "release":
          run(threads.get(id), id, () -> { recipe.release(); say("released " + id); });
          break;
        case "count":
          run(threads.get(id), id, () -> {
            client.sync().forPath(paths.get(id));  // its server may lag behind the other side's
            say("counted " + id + " " + recipe.participants());
          });
          break;
        case "believe": run(threads.get(id), id, () -> believe(paths.get(id))); break;
        case "rounds": run(threads.get(id), id, () -> rounds(recipe, paths.get(id))); break;
        default: say("failed " + id + " unknown");
      }
    }
    System.exit(0);
  }
}
