// Turns the blocks of an object into files on this node.
//
// The manifest comes first (manifest_blocks.h): until it is here every other block is deferred.
// Then each file gets its target (sink_targets.h), the destinations are checked together
// (destination_checks.h), all room is taken, and blocks are written where they belong in any
// order (file_blocks.h), those of a directory tree once its index is here. What this node has
// already is not needed from the broadcast (local_fill.h). At the end all files settle and then
// appear under their names.
//
// Whatever ends a sink early, its temporary files go with it.
#pragma once

#include "stager/disk/page_room.h"
#include "stager/files/manifest/manifest.h"
#include "stager/files/reuse/cache_candidates.h"
#include "stager/files/reuse/local_fill.h"
#include "stager/files/targets/file_blocks.h"
#include "stager/files/targets/manifest_blocks.h"
#include "stager/files/targets/program_links.h"
#include "stager/files/targets/sink_targets.h"
#include "transport/run/object/sink.h"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stage {

struct SinkConfig {
    Writer writer;
    /// Gives the target of a manifest's entry. Fails if the request has no such file.
    std::function<Result<SinkOrder>(const ManifestEntry&)> order_of;
    /// Tells which file entry `i` is read from; empty except on the source's own node.
    std::function<std::optional<FileIdentity>(std::size_t)> identity_of;
    /// Tells which directories the file of entry `i` lies in; empty like `identity_of`.
    std::function<std::vector<FileIdentity>(std::size_t)> above;
    /// The directory on whose disk blocks that lack chunks may be kept; empty: none.
    std::string spill_directory{};
    std::string list_directory;  ///< Holds ".stagecast"; empty: no list of files is written.
    /// Extends the stage's cleanup list (cleanup_entry.h); empty: there is none.
    std::function<Status(const std::vector<std::string>& entries)> extend_cleanup_list;
    /// The directories that are made above files outside of the list directory. May be null.
    std::shared_ptr<MadeDirectories> made{};
    /// The limit in bytes of all files together, and of an unpacked archive; 0: no limit.
    std::uint64_t bytes_max = 0;
    std::uint64_t page_room = kAllPages;  ///< Bytes of all files that may stay in memory.
};

class FileSink final : public BlockSink {
  public:
    explicit FileSink(SinkConfig config)
        : config_{std::move(config)},
          page_shares_{config_.page_room},
          links_{config_.list_directory} {}

    [[nodiscard]] Result<Placing> write(BlockIndex block,
                                        Bytes bytes,
                                        const Digest128& leaf) override;
    [[nodiscard]] Status read_back(BlockIndex block,
                                   std::uint32_t offset,
                                   MutableBytes room) override;
    [[nodiscard]] Status finish() override;

    /// Takes the whole manifest before the first block: decides about every destination and
    /// takes all room. The manifest's blocks are then only compared with `manifest`.
    [[nodiscard]] Status expect(Bytes manifest);
    /// Tells whether expect() would succeed, but makes nothing and takes no room. Nothing else
    /// may be asked of the sink then.
    [[nodiscard]] Status look(Bytes manifest);

    /// The next four call LocalFill. After expect().
    [[nodiscard]] Status fill(const CacheAccess& cache);
    [[nodiscard]] Status resume(const std::function<Status()>& check);
    [[nodiscard]] Status resume_from(const PriorCopies& prior, const CacheAccess& cache);
    [[nodiscard]] std::optional<Digest128> read_filled(BlockIndex block, MutableBytes room);
    /// Bytes of files that fill(), resume() and resume_from() brought.
    [[nodiscard]] std::uint64_t bytes_filled() const { return fill_ ? fill_->bytes() : 0; }

    /// The held blocks in order, in runs apart from each other. The manifest's blocks come
    /// first if a block of a file is held; else there are none.
    [[nodiscard]] std::vector<core::BlockRun> held_runs() const;
    /// True for a block of a file that this node has, so that it is not needed any more.
    [[nodiscard]] bool holds(BlockIndex block) const;
    /// True if all blocks of files are held: only finish() is missing.
    [[nodiscard]] bool holds_all() const { return blocks_ && blocks_->held().holds_all(); }

    /// The files that an interruption would leave in part, at most `most`. After expect().
    [[nodiscard]] std::vector<FileInProgress> in_progress(std::size_t most) const;
    /// The files to offer to the node cache, at most `most`. After finish().
    [[nodiscard]] std::vector<CacheCandidate> cache_candidates(std::size_t most) const;
    /// The tree of entry `index` for the node cache (tree_spool.h); empty if the tree came from
    /// the cache. After finish().
    [[nodiscard]] std::optional<CacheCandidate> spooled(
        std::size_t index, const std::function<bool()>& may_go_on) const;

    /// The manifest; empty until all its blocks are here.
    [[nodiscard]] const std::optional<Manifest>& manifest() const { return manifest_; }
    /// The absolute path of entry `index` of the manifest; "" for one that is not here. After
    /// finish().
    [[nodiscard]] std::string path(std::size_t index) const { return targets_.path(index); }
    /// The directories of libraries for LD_LIBRARY_PATH, each with a slash at its end; $ORIGIN
    /// in one stands for the program's own directory. After finish().
    [[nodiscard]] const std::vector<std::string>& library_paths() const {
        return links_.paths();
    }
    /// The number of files here, those in trees and of lists included. After finish().
    [[nodiscard]] std::size_t file_count() const { return targets_.file_count(); }
    /// Tells why `optional` files are not here.
    [[nodiscard]] const std::vector<Error>& warnings() const { return targets_.warnings(); }
    /// The digest over all blocks of files. After finish().
    [[nodiscard]] std::string digest() const;
    /// Bytes of files that are held so far.
    [[nodiscard]] std::uint64_t bytes_held() const {
        return blocks_ ? blocks_->held().bytes() : 0;
    }
    /// Bytes that will be held at the end; 0 until the manifest is here. From any thread.
    [[nodiscard]] std::uint64_t bytes_expected() const { return bytes_expected_; }

  private:
    [[nodiscard]] Result<Placing> gather_manifest(BlockIndex block, Bytes bytes);
    [[nodiscard]] Status take_manifest();
    [[nodiscard]] Status decide_all();
    [[nodiscard]] Result<std::vector<SinkOrder>> orders() const;
    [[nodiscard]] Status decide(std::size_t index, SinkOrder order);
    [[nodiscard]] Status begin_all();
    [[nodiscard]] Status give_files();
    [[nodiscard]] Status give_names();
    [[nodiscard]] Status list_files() const;
    [[nodiscard]] Status extend_cleanup_list(Result<std::vector<std::string>> entries) const;

    // Members refer to earlier ones.
    SinkConfig config_;
    PageShares page_shares_;
    ManifestBlocks manifest_blocks_;
    std::optional<Manifest> manifest_;
    SinkTargets targets_;
    std::optional<FileBlocks> blocks_;  ///< Set once the manifest is here.
    std::optional<LocalFill> fill_;
    ProgramLinks links_;
    std::atomic<std::uint64_t> bytes_expected_{0};
    std::optional<Status> finished_;  ///< The result of finish().
};

}  // namespace stage
