// A plain object-oriented message-level simulator of one router on a
// POPS(g, g) network: a yardstick for the speed of other simulators.
//
//   g++ -O3 -march=native -std=c++17 yardstick.cpp -o yardstick
//   yardstick G RUNS SEED [DESTINATION_FILE KEYFILE]
//
// Processors decide locally what to do next, couplers carry a message or stop
// it in case of conflict, and for every message of the real network there is
// a message here. One thread; no attempt at cleverness in either direction.
//
// n = g*g processors, processor j in group j / g; coupler c(b, a) carries from
// group a to group b. The router repeats steps of five slots until every
// source has its ack:
//   1  a source without ack sends a copy of its packet to a random group;
//   2  each copy received goes on to its temporary group, destination % g;
//   3  each copy received in slot 2 is acknowledged to where it came from;
//   4  each ack received in slot 3 goes back to the source's group, and the
//      source that hears it drops its packet;
//   5  each copy in its temporary group goes to group destination / g.
//
// "seconds" covers the permutation, the reset of the objects and the routing;
// allocation, file reading and the final check are outside.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

using Index = std::uint32_t;  // of a processor or of a group
using Word = std::uint64_t;

constexpr Index nobody = UINT32_MAX;
constexpr Word golden = 0x9E3779B97F4A7C15u;

[[noreturn]] void fail(const std::string &what) {
  std::fprintf(stderr, "yardstick: %s\n", what.c_str());
  std::exit(1);
}

Word mix(Word w) {
  w = (w ^ (w >> 30)) * 0xBF58476D1CE4E5B9u;
  w = (w ^ (w >> 27)) * 0x94D049BB133111EBu;
  return w ^ (w >> 31);
}

// A packet, a copy of one, or the ack of one: all name the packet they are
// about. A message whose source is nobody is no message.
struct Message {
  Index source = nobody;
  Index destination = nobody;

  bool present() const { return source != nobody; }
  bool operator==(const Message &other) const {
    return source == other.source && destination == other.destination;
  }
};

class Coupler {
 public:
  void clear() { load_ = 0; }

  // In a slot proved free of conflicts a second message is an error.
  void put(const Message &message, bool conflict_free) {
    if (load_ != 0 && conflict_free) fail("collision in slot 3, 4 or 5");
    message_ = message;
    ++load_;
  }

  // What a listener hears: nothing if the coupler is idle or in conflict.
  Message hear() const { return load_ == 1 ? message_ : Message{}; }

 private:
  Message message_;
  Index load_ = 0;
};

class Network;

class Processor {
 public:
  void place(Index id, Index g) {
    id_ = id;
    group_ = id / g;
    place_ = id % g;
  }

  void reset(Index destination) {
    packet_ = {id_, destination};
    pending_ = true;
    received_ = {};
  }

  void send(int slot, Network &network, Word key);
  void listen(int slot, const Network &network);

  bool pending() const { return pending_; }
  const Message &received() const { return received_; }

 private:
  Index id_ = 0;
  Index group_ = 0;
  Index place_ = 0;       // in its group, and the group it listens to
  Index sent_to_ = nobody;     // in slot 1
  Index relayed_to_ = nobody;  // in slot 2
  bool pending_ = false;
  bool to_acknowledge_ = false;  // an ack heard in slot 3 has to go on
  Message packet_;    // as source
  Message relay_;     // copy heard in slot 1
  Message parked_;    // copy heard in slot 2
  Message received_;  // as destination
};

class Network {
 public:
  explicit Network(Index g)
      : g_(g), processors_(std::size_t(g) * g), couplers_(processors_.size()) {
    for (std::size_t j = 0; j < processors_.size(); ++j)
      processors_[j].place(Index(j), g);
  }

  Index g() const { return g_; }

  Coupler &coupler(Index to, Index from) {
    return couplers_[std::size_t(to) * g_ + from];
  }
  const Coupler &coupler(Index to, Index from) const {
    return couplers_[std::size_t(to) * g_ + from];
  }

  void reset(const std::vector<Index> &destination) {
    for (std::size_t j = 0; j < processors_.size(); ++j)
      processors_[j].reset(destination[j]);
  }

  // Five slots; returns how many packets are still without ack.
  std::size_t step(Word key) {
    for (int slot = 1; slot <= 5; ++slot) {
      for (Coupler &c : couplers_) c.clear();
      for (Processor &p : processors_) p.send(slot, *this, key);
      for (Processor &p : processors_) p.listen(slot, *this);
    }
    std::size_t pending = 0;
    for (const Processor &p : processors_) pending += p.pending();
    return pending;
  }

  // Each processor must hold the packet meant for it.
  void check(const std::vector<Index> &destination) const {
    for (std::size_t j = 0; j < processors_.size(); ++j) {
      const Message wanted{Index(j), destination[j]};
      if (!(processors_[destination[j]].received() == wanted))
        fail("packet of " + std::to_string(j) + " not delivered");
    }
  }

 private:
  Index g_;
  std::vector<Processor> processors_;
  std::vector<Coupler> couplers_;
};

void Processor::send(int slot, Network &network, Word key) {
  const Index g = network.g();
  switch (slot) {
    case 1:
      sent_to_ = nobody;
      if (pending_) {
        const Word word = mix(key + (Word(id_) + 1) * golden);
        sent_to_ = Index(((word >> 32) * g) >> 32);
        network.coupler(sent_to_, group_).put(packet_, false);
      }
      break;
    case 2:
      relayed_to_ = nobody;
      if (relay_.present()) {
        relayed_to_ = relay_.destination % g;
        network.coupler(relayed_to_, group_).put(relay_, false);
      }
      break;
    case 3:
      if (parked_.present())
        network.coupler(place_, group_).put(parked_, true);
      break;
    case 4:
      if (to_acknowledge_)
        network.coupler(place_, group_).put(relay_, true);
      break;
    case 5:
      if (parked_.present())
        network.coupler(parked_.destination / g, group_).put(parked_, true);
      break;
  }
}

void Processor::listen(int slot, const Network &network) {
  switch (slot) {
    case 1:
      relay_ = network.coupler(group_, place_).hear();
      break;
    case 2:
      parked_ = network.coupler(group_, place_).hear();
      break;
    case 3:
      to_acknowledge_ = false;
      if (relayed_to_ != nobody) {
        const Message ack = network.coupler(group_, relayed_to_).hear();
        if (ack.present()) {
          if (!(ack == relay_)) fail("wrong ack in slot 3");
          to_acknowledge_ = true;
        }
      }
      break;
    case 4:
      if (sent_to_ != nobody) {
        const Message ack = network.coupler(group_, sent_to_).hear();
        if (ack.present()) {
          if (!(ack == packet_)) fail("wrong ack in slot 4");
          pending_ = false;
        }
      }
      break;
    case 5: {
      const Message copy = network.coupler(group_, place_).hear();
      if (copy.present()) {
        if (copy.destination != id_) fail("packet at a wrong processor");
        if (received_.present()) fail("packet delivered twice");
        received_ = copy;
      }
      break;
    }
  }
}

template <class T>
std::vector<T> read_numbers(const char *path) {
  std::ifstream file(path);
  if (!file) fail(std::string("cannot open ") + path);
  std::vector<T> numbers;
  for (T number; file >> number;) numbers.push_back(number);
  if (!file.eof()) fail(std::string("not a list of numbers: ") + path);
  return numbers;
}

Word number(const char *text) {
  char *end = nullptr;
  const Word value = std::strtoull(text, &end, 10);
  if (end == text || *end != '\0' || *text == '-')
    fail(std::string("not a number: ") + text);
  return value;
}

template <class T>
void print_list(const std::vector<T> &list) {
  std::printf("[");
  for (std::size_t i = 0; i < list.size(); ++i)
    std::printf(i == 0 ? "%zu" : ", %zu", std::size_t(list[i]));
  std::printf("]");
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 4 && argc != 6)
    fail("usage: yardstick G RUNS SEED [DESTINATION_FILE KEYFILE]");
  const Word g_given = number(argv[1]);
  const Word runs = number(argv[2]);
  const Word seed = number(argv[3]);
  const bool from_files = argc == 6;
  if (g_given < 1 || g_given > 32768) fail("G must be in 1..32768");
  if (runs < 1) fail("RUNS must be positive");
  if (from_files && runs != 1) fail("RUNS must be 1 with files");

  const Index g = Index(g_given);
  const std::size_t n = std::size_t(g) * g;
  std::vector<Index> destination(n);
  std::vector<Word> keys;
  if (from_files) {
    destination = read_numbers<Index>(argv[4]);
    keys = read_numbers<Word>(argv[5]);
    if (destination.size() != n) fail("DESTINATION_FILE must hold n numbers");
    std::vector<bool> taken(n, false);
    for (const Index d : destination) {
      if (d >= n || taken[d]) fail("DESTINATION_FILE is no permutation");
      taken[d] = true;
    }
  }

  Network network(g);
  std::mt19937_64 generator(seed);
  std::vector<std::size_t> steps, survivors;
  double seconds = 0;
  for (Word run = 0; run < runs; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    if (!from_files) {
      std::iota(destination.begin(), destination.end(), Index(0));
      std::shuffle(destination.begin(), destination.end(), generator);
    }
    network.reset(destination);
    survivors.clear();
    const Word run_key = mix(seed ^ (run * golden));
    do {
      const std::size_t s = survivors.size();
      if (from_files && s >= keys.size()) fail("KEYFILE is too short");
      survivors.push_back(network.step(from_files ? keys[s] : mix(run_key + s)));
    } while (survivors.back() != 0);
    const auto end = std::chrono::steady_clock::now();
    seconds += std::chrono::duration<double>(end - begin).count();
    steps.push_back(survivors.size());
    network.check(destination);
  }

  std::printf("{\"g\": %u, \"n\": %zu, \"runs\": %zu, \"steps\": ", g, n,
              std::size_t(runs));
  print_list(steps);
  std::printf(", \"survivors\": ");
  print_list(survivors);
  std::printf(", \"seconds\": %.6f, \"ns_per_packet\": %.3f}\n", seconds,
              seconds / (double(runs) * double(n)) * 1e9);
  return 0;
}
