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
    /// Where a file comes to. Fails if the request has no such file.
    std::function<Result<SinkOrder>(const ManifestEntry&)> order_of;
    /// On the source's own node: which file entry i is read from.
    std::function<std::optional<FileIdentity>(std::size_t)> identity_of;
    /// Tells which directories that lies in.
    std::function<std::vector<FileIdentity>(std::size_t)> above;
    /// On the disk of this directory blocks that lack chunks may be kept; empty: nowhere.
    std::string spill_directory{};
    std::string list_directory;  ///< Where ".stagecast" is; empty: no list of files is written.
    /// Extends the stage's cleanup list (cleanup_entry.h); empty: there is none.
    std::function<Status(const std::vector<std::string>& entries)> extend_cleanup_list;
    /// What is made above files outside of the list directory. May be none.
    std::shared_ptr<MadeDirectories> made{};
    /// Bytes of all files together, and that an archive may become; 0: no limit.
    std::uint64_t bytes_max = 0;
    std::uint64_t page_room = kAllPages;  ///< Of all files, what may stay in memory.
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

    /// The whole manifest, by another way than the blocks and before the first of them: every
    /// place is looked at, and all room taken. Its blocks are then only compared with it.
    [[nodiscard]] Status expect(Bytes manifest);
    /// Makes nothing and takes no room, unlike expect(): the result tells whether expect()
    /// would have succeeded. Nothing else may be asked of this sink then.
    [[nodiscard]] Status look(Bytes manifest);

    /// LocalFill's, after expect().
    [[nodiscard]] Status fill(const CacheAccess& cache);
    [[nodiscard]] Status resume(const std::function<Status()>& check);
    [[nodiscard]] Status resume_from(const PriorCopies& prior, const CacheAccess& cache);
    [[nodiscard]] std::optional<Digest128> read_filled(BlockIndex block, MutableBytes room);
    /// Bytes of files that were filled by these.
    [[nodiscard]] std::uint64_t bytes_filled() const { return fill_ ? fill_->bytes() : 0; }

    /// The object's blocks that are held, the manifest's with the first of a file; in order,
    /// and apart.
    [[nodiscard]] std::vector<core::BlockRun> held_runs() const;
    /// True of a file's block that is not needed any more.
    [[nodiscard]] bool holds(BlockIndex block) const;
    /// Nothing is needed but finish().
    [[nodiscard]] bool holds_all() const { return blocks_ && blocks_->held().holds_all(); }

    /// Files that this stage may be interrupted at, at most `most`. After expect().
    [[nodiscard]] std::vector<FileInProgress> in_progress(std::size_t most) const;
    /// Files for the node cache, at most `most`. After finish().
    [[nodiscard]] std::vector<CacheCandidate> cache_candidates(std::size_t most) const;
    /// The tree of entry `index` for the node cache (tree_spool.h); nothing of a tree that came
    /// from the cache. After finish().
    [[nodiscard]] std::optional<CacheCandidate> spooled(
        std::size_t index, const std::function<bool()>& may_go_on) const;

    /// Nothing until the manifest is complete.
    [[nodiscard]] const std::optional<Manifest>& manifest() const { return manifest_; }
    /// Where entry `index` of the manifest is, absolute; "" for one that is not here. After
    /// finish().
    [[nodiscard]] std::string path(std::size_t index) const { return targets_.path(index); }
    /// What finds the libraries that are here, for LD_LIBRARY_PATH, each with a slash at its
    /// end: a directory, or one that $ORIGIN makes a program's own. After finish().
    [[nodiscard]] const std::vector<std::string>& library_paths() const {
        return links_.paths();
    }
    /// Counts all that is here, files in trees and of lists, too. After finish().
    [[nodiscard]] std::size_t file_count() const { return targets_.file_count(); }
    /// Why `optional` files are not here.
    [[nodiscard]] const std::vector<Error>& warnings() const { return targets_.warnings(); }
    /// Covers all file blocks. After finish().
    [[nodiscard]] std::string digest() const;
    /// Bytes of files that are held so far.
    [[nodiscard]] std::uint64_t bytes_held() const {
        return blocks_ ? blocks_->held().bytes() : 0;
    }
    /// How many there will be; 0 while that is not known. From any thread.
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
    std::optional<FileBlocks> blocks_;  ///< With the manifest, as the next.
    std::optional<LocalFill> fill_;
    ProgramLinks links_;
    std::atomic<std::uint64_t> bytes_expected_{0};
    std::optional<Status> finished_;  ///< The result of finish().
};

}  // namespace stage
