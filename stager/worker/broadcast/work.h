// Connects a broadcast with this member's files.
//
// The source reads them, a receiver writes them, and a source with copies on its own node does
// both from one read. A member that cannot begin tells the group why.
#pragma once

#include "stager/files/sink/source_and_sink.h"
#include "stager/worker/broadcast/network.h"
#include "transport/run/broadcast.h"
#include "transport/run/passage/passage_ends.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stage {

/// Lets a test wrap the driver that the work would use.
using DriverWrap = std::function<std::unique_ptr<Driver>(std::unique_ptr<Driver>)>;

class Work {
  public:
    /// Opens the source's files. `sink` says where its own node's copies go, if there are any.
    [[nodiscard]] static Result<Work> sending(const std::vector<SourceOrder>& orders,
                                              std::uint64_t bytes_max,
                                              std::optional<SinkConfig> sink,
                                              const KnownContent& known = {});
    [[nodiscard]] static Work receiving(SinkConfig sink);
    /// Keeps what another cluster sends.
    [[nodiscard]] static Work taking_in(Passage passage, PassageAck ack);
    /// Sends that on in this cluster. `sink`: as of sending().
    [[nodiscard]] static Work passing_on(Passage passage, std::optional<SinkConfig> sink);
    /// Ends the broadcast of the whole group with `why`.
    [[nodiscard]] static Work refusing(Error why, bool is_source);

    /// What the source can tell the receivers beforehand; empty if it is too long for an OFFER.
    [[nodiscard]] Bytes offer() const;
    /// Checks whether there is room here for the source's `offer`. To be called before run().
    [[nodiscard]] Status expect(Bytes offer);

    /// Uses the files that are on this node already. Requires that expect() succeeded.
    [[nodiscard]] Status fill(const CacheAccess& cache);
    /// Resumes from the partial files that an interrupted push left. Requires the same.
    [[nodiscard]] Status resume(const std::function<Status()>& check);
    [[nodiscard]] Status resume_from(const PriorCopies& prior, const CacheAccess& cache);

    /// Takes part in the broadcast over the fabric that was joined, and by a second session
    /// over the network's next one if the group goes on by a relay; in a group of one, copies
    /// the files alone.
    [[nodiscard]] BroadcastReport run(const BroadcastConfig& config,
                                      Joined joined,
                                      Network& network,
                                      Watcher& watcher,
                                      const DriverWrap& wrap = {});

    /// The reason for which this member refuses, if it does.
    [[nodiscard]] const std::optional<Error>& refusal() const { return refusal_; }
    /// The files that are written here, or null.
    [[nodiscard]] const FileSink* sink() const { return sink_.get(); }
    /// The manifest of the files, or null while it is not known.
    [[nodiscard]] const Manifest* manifest() const;
    /// The bytes of all files; 0 while they are not known. May be called from any thread.
    [[nodiscard]] std::uint64_t bytes_expected() const;
    /// The bytes that this member has read from the source's files.
    [[nodiscard]] std::uint64_t bytes_read() const;
    /// FileSource::remarks(); empty on a receiver.
    [[nodiscard]] std::string remarks() const;
    /// The digest of all files. Requires that run() succeeded.
    [[nodiscard]] std::string digest() const;

  private:
    Work() = default;

    [[nodiscard]] BroadcastReport run_alone(Watcher& watcher);
    [[nodiscard]] BroadcastReport run_session(const BroadcastConfig& given,
                                              Joined joined,
                                              Watcher& watcher,
                                              const DriverWrap& wrap);
    void say_what_is_here(BroadcastConfig& config) const;

    // Members refer to earlier ones.
    std::unique_ptr<FileSource> files_;
    /// In place of files: those of a refusal, or of a passage.
    std::unique_ptr<BlockSource> other_source_;
    std::unique_ptr<BlockSink> other_sink_;
    std::unique_ptr<FileSink> sink_;
    std::unique_ptr<SourceAndSink> both_;
    std::string spill_directory_;  ///< A receiver's; empty: the receiver has none.
    std::optional<Error> refusal_;
    std::uint64_t passage_bytes_ = 0;
};

}  // namespace stage
