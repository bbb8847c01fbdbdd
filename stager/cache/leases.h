// Decides which of several stages on this node reads a file that all of them need.
//
// The first stage that asks reads. The others wait until the file is in the cache, or until
// that is known to fail; then the next one reads. A stage that others wait for never waits
// itself, so that no two stages wait for each other.
#pragma once

#include "stager/content/source_stamp.h"

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <vector>

namespace stage {

/// Limits of the files that are leased at one time, in total and for one user: each may cost a
/// connection to another daemon. A file beyond the limit is read without a lease, and no stage
/// waits for it.
inline constexpr std::size_t kLeasesMax = 1024;
inline constexpr std::size_t kLeasesOfUserMax = 256;
/// After this many readers that could not share the file, the other stages stop waiting.
inline constexpr unsigned kVainReadersMax = 2;

/// Identifies a source file of a user.
struct LeasedFile {
    std::uint32_t uid = 0;
    SourceStamp stamp{};

    auto operator<=>(const LeasedFile&) const = default;
};

class Leases {
  public:
    using Holder = std::uint64_t;  ///< A number that identifies a stage.

    /// Returns false if the stage must wait until settle() or leave() names it.
    [[nodiscard]] bool may_read(Holder asker, const LeasedFile& file);
    /// The holder's copy is on its way to the cache: the others wait even if its stage ends.
    void keep(Holder holder, const LeasedFile& file);
    [[nodiscard]] bool is_kept(const LeasedFile& file) const;
    /// The copy to the cache has ended. Returns the stages to notify: all if the content
    /// `is_known`, else the one that reads next, or all of them after kVainReadersMax readers.
    [[nodiscard]] std::vector<Holder> settle(const LeasedFile& file, bool is_known);
    /// A file that another stage reads from now on.
    struct Next {
        LeasedFile file;
        Holder reader = 0;
    };
    /// The stage has ended, or has waited long enough. For `undecided` files no stage has yet
    /// been chosen as the reader: another stage succeeds this holder, which does not count as a
    /// reader that could not share the file.
    [[nodiscard]] std::vector<Next> leave(Holder holder,
                                          const std::set<LeasedFile>& undecided = {});

    /// The stage that the others wait for; 0 if no stage reads the file.
    [[nodiscard]] Holder holder_of(const LeasedFile& file) const;
    /// True if other stages may be waiting for that stage.
    [[nodiscard]] bool holds_any(Holder holder) const;
    [[nodiscard]] bool empty() const { return leases_.empty(); }

  private:
    struct Lease {
        Holder holder = 0;
        bool is_kept = false;
        unsigned vain_readers = 0;
        std::deque<Holder> waiting;
    };

    [[nodiscard]] bool has_room_for(std::uint32_t uid) const;
    [[nodiscard]] std::vector<Holder> pass_on(const LeasedFile& file, bool to_all);

    std::map<LeasedFile, Lease> leases_;
};

}  // namespace stage
