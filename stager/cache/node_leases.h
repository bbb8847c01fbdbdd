// Decides which of several nodes reads a file, and from which node the others fetch it.
//
// It is the table of the file's lease server (lease_server_choice.h). The first node that asks
// reads the file. The others wait until that node has the file in its cache, and are then sent
// there. Each node that has fetched the file serves two more at a time, so that many nodes have
// it after a few rounds. A node that leaves, or does not find the file where it was sent, makes
// room for the next one. If reader after reader leaves without caching the file, the others
// stop waiting: it may be a file that no cache has room for.
#pragma once

#include "stager/cache/leases.h"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace stage {

/// The number of files that a lease server tracks; the least recently used is forgotten first.
inline constexpr std::size_t kLeasedFilesMax = 4096;
/// The number of nodes that are recorded as holding one file.
inline constexpr std::size_t kFileHoldersMax = 64;
/// The number of nodes that one holder serves at one time.
inline constexpr unsigned kServedAtOnce = 2;

class NodeLeases {
  public:
    using Asker = std::uint64_t;  ///< Identifies one node's request for one file.
    struct Place {
        std::string node;
        std::string address;

        bool operator==(const Place&) const = default;
    };
    /// The answer to a request: read the file, or fetch it from `holder`.
    struct Word {
        Asker to = 0;
        Place holder;  ///< Without a name: read the file.

        bool operator==(const Word&) const = default;
    };
    using Words = std::vector<Word>;

    /// The answer may come from a later call. A node that others wait for has `may_wait` false
    /// and never has to wait for a reader.
    [[nodiscard]] Words ask(Asker asker, Place own, const LeasedFile& file, bool may_wait);
    /// The node has the file in its cache now.
    [[nodiscard]] Words held(Asker asker);
    /// The node did not find the file where it was sent.
    [[nodiscard]] Words missed(Asker asker);
    /// The node is gone, or has read the file but cannot share it.
    [[nodiscard]] Words leave(Asker asker);

    [[nodiscard]] std::size_t files() const { return files_.size(); }

  private:
    enum class State : unsigned char { waiting, reading, fetching, done };
    struct Request {
        LeasedFile file;
        Place own;
        bool may_wait = true;
        State state = State::waiting;
        std::string from;  ///< The node that it fetches from.
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
        unsigned vain_readers = 0;  ///< Since a node last held the file.
        std::uint64_t used = 0;
    };

    [[nodiscard]] bool make_room();
    /// The node no longer reads or fetches.
    void release(Asker asker, Request& request, File& file);
    [[nodiscard]] static Holder* idle_holder(File& file);
    [[nodiscard]] Words go_on(const LeasedFile& name);
    [[nodiscard]] bool tell(Asker asker, File& file, Words& words);

    std::map<LeasedFile, File> files_;
    std::map<Asker, Request> requests_;
    std::uint64_t uses_ = 0;
};

}  // namespace stage
