// What does this member do with files while the broadcast runs?
//
// It reads them (the source), writes them, does both from one read, or, when it can't even
// begin, tells the group why.
#pragma once

#include "stager/files/sink/source_and_sink.h"
#include "transport/os/unique_fd.h"
#include "transport/run/broadcast.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stage {

/// The sockets of transport/udp/sockets.h: who opened them no longer matters.
struct BroadcastSockets {
    std::vector<UniqueFd> flows;  ///< Of the group.
    UniqueFd peer;
    std::vector<UniqueFd> rails{};  ///< The source's, to send by each rail but the first.
    std::vector<std::string> interfaces{};  ///< By rail; the flows are on them in turn.
    std::size_t group_rails = 1;            ///< Neighbouring addresses of the group.
};

/// Some member has no more rails than that: on these, and so by these flows, the group is heard
/// from now on.
[[nodiscard]] Status use_rails(BroadcastSockets& sockets,
                               const Address& group,
                               std::size_t rails);

/// What the kernel granted for receiving by multicast, bytes.
[[nodiscard]] std::uint32_t receive_buffer_bytes(const BroadcastSockets& sockets);

/// What a test puts around the driver that the work would use.
using DriverWrap = std::function<std::unique_ptr<Driver>(std::unique_ptr<Driver>)>;

class Work {
  public:
    /// The source's: opens the files. `sink`: where its own node's copies go, if it has any.
    [[nodiscard]] static Result<Work> sending(const std::vector<SourceOrder>& orders,
                                              std::uint64_t bytes_max,
                                              std::optional<SinkConfig> sink,
                                              const KnownContent& known = {});
    [[nodiscard]] static Work receiving(SinkConfig sink);
    /// Ends the group with `why`.
    [[nodiscard]] static Work refusing(Error why, bool is_source);

    /// What the source can tell the others beforehand; empty if it is too long for that.
    [[nodiscard]] Bytes offer() const;
    /// The source's offer: is there room for it here? To be asked before run().
    [[nodiscard]] Status expect(Bytes offer);

    /// What is here already is taken from here. After expect(), which must have gone well.
    [[nodiscard]] Status fill(const FileSink::Cached& cached);
    /// And what came before it was broken off. Likewise.
    [[nodiscard]] Status take_up(const std::function<Status()>& check);
    [[nodiscard]] Status take_up_from(const FileSink::PriorCopies& earlier,
                                      const FileSink::Cached& cached);

    /// Takes part in the broadcast; in a group of one, copies alone.
    [[nodiscard]] BroadcastReport run(const BroadcastConfig& config,
                                      BroadcastSockets sockets,
                                      Watcher& watcher,
                                      const DriverWrap& wrap = {});

    /// Why this member refuses, if it does.
    [[nodiscard]] const std::optional<Error>& refusal() const { return refusal_; }
    /// Where files are written here, or null.
    [[nodiscard]] const FileSink* sink() const { return sink_.get(); }
    /// Of the files, or null while it is not known.
    [[nodiscard]] const Manifest* manifest() const;
    /// Bytes of all files; 0 while they are not known. From any thread.
    [[nodiscard]] std::uint64_t bytes_expected() const;
    /// Of the source's files, by this member, bytes.
    [[nodiscard]] std::uint64_t bytes_read() const;
    /// Once run() has ended well.
    [[nodiscard]] std::string digest() const;

  private:
    Work() = default;

    [[nodiscard]] BroadcastReport run_alone(Watcher& watcher);
    void say_what_is_here(BroadcastConfig& config) const;

    // Members refer to earlier ones.
    std::unique_ptr<FileSource> files_;
    std::unique_ptr<FileSink> sink_;
    std::unique_ptr<SourceAndSink> both_;
    std::optional<Error> refusal_;
    std::unique_ptr<BlockSource> refusing_source_;
    std::unique_ptr<BlockSink> refusing_sink_;
};

}  // namespace stage
