// Who reads a file that several nodes want at once, and who has it since?
//
// The table of the one daemon that all of them ask about that file (its keeper). The first that
// asks reads; the others wait until it holds the file in its cache, and are sent there. Each
// that has fetched it gives it on to two more at a time, so that many nodes have it after a few
// rounds. Whoever leaves, or finds nothing where it was sent, makes place for the next one.
// Where reader after reader leaves without holding it nobody waits for the next: it may be a
// file that no cache has room for.
#pragma once

#include "stager/cache/leases.h"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace stage {

/// Files that a keeper knows of; the longest unused are forgotten first.
inline constexpr std::size_t kLeasedFilesMax = 4096;
/// Nodes that are remembered as holding one file.
inline constexpr std::size_t kFileHoldersMax = 64;
/// Nodes that one holder serves at one time.
inline constexpr unsigned kServedAtOnce = 2;

class NodeLeases {
  public:
    using Asker = std::uint64_t;  ///< A node that asks about one file.
    struct Place {
        std::string node;
        std::string address;

        bool operator==(const Place&) const = default;
    };
    /// What an asker is told: read it, or fetch it there.
    struct Word {
        Asker to = 0;
        Place holder;  ///< Without a name: read it.

        bool operator==(const Word&) const = default;
    };
    using Words = std::vector<Word>;

    /// The answer may come from a later call. Who can't wait, because others wait for it, is
    /// never told to wait for a reader.
    [[nodiscard]] Words ask(Asker asker, Place own, const LeasedFile& file, bool may_wait);
    /// It has the file now.
    [[nodiscard]] Words held(Asker asker);
    /// It did not get the file where it was sent.
    [[nodiscard]] Words missed(Asker asker);
    /// It is gone, or has read what it can't give on.
    [[nodiscard]] Words leave(Asker asker);

    [[nodiscard]] std::size_t files() const { return files_.size(); }

  private:
    enum class State : unsigned char { waiting, reading, fetching, done };
    struct Guest {
        LeasedFile file;
        Place own;
        bool may_wait = true;
        State state = State::waiting;
        std::string from;  ///< Of fetching.
    };
    struct Holder {
        Place place;
        unsigned serving = 0;
    };
    struct File {
        Asker reader = 0;
        std::vector<Holder> holders;
        std::deque<Asker> waiting;
        std::size_t fetching = 0;
        unsigned vain_readers = 0;  ///< Since somebody held it.
        std::uint64_t used = 0;
    };

    [[nodiscard]] bool make_room();
    /// It reads or fetches no longer.
    void release(Asker asker, Guest& guest, File& file);
    [[nodiscard]] static Holder* idle_holder(File& file);
    [[nodiscard]] Words go_on(const LeasedFile& name);
    [[nodiscard]] bool tell(Asker asker, File& file, Words& words);

    std::map<LeasedFile, File> files_;
    std::map<Asker, Guest> guests_;
    std::uint64_t uses_ = 0;
};

}  // namespace stage
