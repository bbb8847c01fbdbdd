// Which daemons hang below this one, and which of them answer?
//
// One entry per child, and per child of a dead child (adoption). Reaching one is tried again
// and again until the connect limit; one that was reached and falls silent is lost. Pure: it
// says whom to connect to and who is lost, the owner of the links does it.
#pragma once

#include "stager/daemon/tree/tree.h"
#include "transport/base/units.h"

#include <optional>
#include <string>
#include <vector>

namespace stage {

struct BranchTimes {
    Duration connect_max =
        std::chrono::seconds{5};  ///< From the first try until it is given up.
    Duration retry_after = std::chrono::milliseconds{250};
    Duration silence_max = std::chrono::seconds{60};  ///< Of a link that is up.
};

/// A node below that does not take part.
struct LostBranch {
    Rank rank;
    bool was_up = false;
    std::string why;  ///< What the last try came to; may be empty.
};

class Branches {
  public:
    Branches(Tree tree, Rank self, BranchTimes times);

    /// Begins to connect to the children.
    void start(Instant now);

    /// `rank` is reached. False if nobody asked for it: hang up.
    [[nodiscard]] bool on_up(Instant now, Rank rank);
    /// The link or the attempt to make one broke.
    void on_down(Instant now, Rank rank, std::string why);
    void on_heard(Instant now, Rank rank);
    /// `rank` and all below it have what they need: losing it now is nothing.
    void on_settled(Rank rank);
    void on_time(Instant now);
    /// From now on a link that is up may be silent for no longer than `silence`.
    void hurry(Instant now, Duration silence);
    /// This daemon did not run for `pause`: no branch is to blame for that time.
    void excuse(Duration pause);
    [[nodiscard]] std::optional<Instant> deadline() const;

    /// Whom to connect to, each once per call for it.
    [[nodiscard]] std::vector<Rank> take_connects();
    /// Who has been lost since the last call; their children are being adopted already.
    [[nodiscard]] std::vector<LostBranch> take_lost();

    [[nodiscard]] bool is_up(Rank rank) const;
    /// The ranks that are up and not settled.
    [[nodiscard]] std::vector<Rank> listeners() const;
    /// Nobody is being connected to, nobody is up unsettled.
    [[nodiscard]] bool all_settled() const;

  private:
    enum class State : unsigned char { connecting, waiting, up, settled, lost };
    struct Branch {
        Rank rank;
        State state;
        Instant give_up_at;  ///< Connecting and waiting: the end of patience. Up: of silence.
        Instant retry_at;    ///< Waiting only.
        std::string why;
    };

    void adopt(Instant now, Rank rank);
    void lose(Instant now, Rank rank);
    [[nodiscard]] Branch* find(Rank rank);

    Tree tree_;
    Rank self_;
    BranchTimes times_;
    std::vector<Branch> branches_;
    std::vector<Rank> connects_;
    std::vector<LostBranch> lost_;
};

}  // namespace stage
