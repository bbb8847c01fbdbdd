// Runs a whole group of daemons without sockets, in which any node can fail at any time.
//
// Time is a number, links are queues with a drawn latency, a node's worker is three
// contributions: a fence's part, listening (for which all wait), outcome.
#pragma once

#include "stager/daemon/group/group.h"
#include "transport/base/prng.h"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace stage {

class GroupWorld {
  public:
    struct Node {
        std::unique_ptr<Group> group;
        bool dead = false;    ///< Its process is gone: connections are refused or cut.
        bool silent = false;  ///< Its network has failed: nothing arrives, and no node notices.
        Instant frozen_until{};
        bool announced = false;
        bool early_failure = false;
        std::set<std::uint16_t> taken;  ///< Ports that its worker can't have.
        Epoch epoch{.draws = 0, .port = 1, .cards_follow = false};
        bool outcome_said = false;
        bool hangs = false;  ///< Its worker never comes to an outcome.
        std::optional<Epoch> listened;
        bool all_listen = false;  ///< It has heard so.
        std::optional<Instant> settled_at;
        std::vector<std::byte> fence;
        std::vector<Contribution> outcomes;
    };

    GroupWorld(std::size_t size, std::size_t width, std::uint64_t seed);

    /// The root has its table at `at`: SETUPs go out.
    void start(Instant at, Duration stage_timeout);
    void at(Instant when, std::function<void()> what);
    /// Everything until nothing is left to happen, or `until`.
    void run(Instant until);

    /// Instead of a few bytes of a fence: what every node's first part is.
    void say(Collective kind, std::size_t bytes);
    void announce(std::size_t rank);
    void fail(std::size_t rank, const std::string& sentence);
    /// All groups drop failed nodes. To be called first.
    void drop_failed() { drops_failed_ = true; }
    /// Its worker is stopped; the daemon does not know.
    void hang(std::size_t rank) { nodes_.at(rank).hangs = true; }
    /// Its worker, which has all cards, has failed.
    void leave(std::size_t rank, const std::string& sentence);
    /// The source has gone on without it.
    void drop(std::size_t rank, const std::string& sentence);
    void lose_wire_up(std::size_t rank);
    void time_is_over(std::size_t rank);
    void kill(std::size_t rank);
    void cut(std::size_t rank);
    /// The network resets its link to its parent: what is on its way is lost.
    void reset(std::size_t rank);
    /// Another program has these ports; all nodes begin with port 1.
    void take_ports(std::size_t rank, std::set<std::uint16_t> ports);
    /// Its process is stopped for so long: what arrives waits, and its clock jumps.
    void freeze(std::size_t rank, Duration length);

    [[nodiscard]] Instant now() const { return now_; }
    [[nodiscard]] std::size_t size() const { return nodes_.size(); }
    [[nodiscard]] const Node& node(std::size_t rank) const { return nodes_.at(rank); }
    [[nodiscard]] bool reachable(std::size_t rank) const {
        return !nodes_.at(rank).dead && !nodes_.at(rank).silent;
    }
    /// The longest message so far, bytes.
    [[nodiscard]] std::size_t longest() const { return longest_; }
    /// Descriptors that would still be open.
    [[nodiscard]] std::size_t links() const { return links_.size(); }
    Prng& prng() { return prng_; }

  private:
    using Edge = std::pair<std::size_t, std::size_t>;  ///< Above, below.
    struct Wire {
        std::uint64_t id = 0;
        Instant busy_until;
    };

    [[nodiscard]] Duration latency();
    void follow(std::size_t rank);
    void connect(std::size_t from, std::size_t to);
    void deliver(std::size_t from, std::size_t to, TreeMessage message);
    void on_arrival(std::size_t from, std::size_t to, TreeMessage message);
    void hang_up(std::size_t one, std::size_t other);
    void on_closed(std::size_t by, std::size_t at);
    void do_local(std::size_t rank);
    void begin_epoch(std::size_t rank, const Epoch& epoch);
    void draw_port(std::size_t rank, const group::DrawPort& asked);
    void on_delivered(std::size_t rank, const group::Deliver& done);
    void listen(std::size_t rank, const Epoch& epoch);
    void tick(std::size_t rank);
    void on_tick(std::size_t rank, Instant due);
    [[nodiscard]] bool is_put_off(std::size_t rank, const std::function<void()>& what);
    [[nodiscard]] GroupSeat seat(std::size_t rank) const;
    [[nodiscard]] std::optional<Edge> edge_between(std::size_t one, std::size_t other) const;

    Tree tree_;
    bool drops_failed_ = false;
    Prng prng_;
    Instant now_{};
    Instant deadline_;
    std::vector<Node> nodes_;
    std::map<Edge, Wire> links_;
    std::uint64_t next_id_ = 0;
    std::size_t part_bytes_ = 2;
    std::size_t longest_ = 0;
    std::multimap<Instant, std::function<void()>> events_;
};

}  // namespace stage
