// Provides files and failing disks for tests.
//
// On the real disk (/tmp may be none), in a directory of their own; bad days (a full disk, a
// read-only one, no permission) in a forked child with a mount namespace or an identity of its
// own, which reports one line of text. As root; elsewhere such a test has nothing to show and
// says so.
#pragma once

#include "stager/files/sink/file_sink.h"
#include "stager/files/source/file_source.h"

#include <sys/stat.h>

#include <functional>
#include <string>
#include <vector>

namespace stage::test {

/// A directory that is removed at the end.
class Scratch {
  public:
    Scratch();
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    [[nodiscard]] std::string path(const std::string& below = "") const;
    /// Writes a file and gives its path; the directory it lies in is made.
    std::string write(const std::string& below, const std::string& content) const;
    /// Every file and link below, sorted, without the directory.
    [[nodiscard]] std::vector<std::string> names() const;

  private:
    std::string path_;
};

/// The result of lstat, which must succeed.
[[nodiscard]] struct stat status_of(const std::string& path);
[[nodiscard]] std::string content_of(const std::string& path);
/// The entry of a cleanup list for the file at `path` (cleanup_entry.h).
[[nodiscard]] std::string removal_there(const std::string& path);
/// Follows a cleanup list of these entries, beside others with those. What the first of the
/// others has then is in `passed_on`, if that is given.
std::size_t follow_list(const std::vector<std::string>& own,
                        const std::vector<std::vector<std::string>>& others = {},
                        std::vector<std::string>* passed_on = nullptr);
/// `size` bytes that a seed determines.
[[nodiscard]] std::string noise(std::size_t size, std::uint64_t seed = 1);

/// The bytes of [begin, end) of the file that are in memory, in whole pages.
[[nodiscard]] std::uint64_t resident(int fd, std::uint64_t begin, std::uint64_t end);
/// Nothing can leave it: it is on a tmpfs.
[[nodiscard]] bool is_on_tmpfs(int fd);

/// Runs `work` in a child process; returns its result, or "died" if it did not return.
[[nodiscard]] std::string in_child(const std::function<std::string()>& work);
/// Within a child: an own mount namespace with a tmpfs of `size` bytes at `path`. False where
/// that is not allowed.
[[nodiscard]] bool mount_small(const std::string& path, std::uint64_t size);
/// Mounts an ext4 that believes in 256 MB, on a disk that fails after `size` bytes.
[[nodiscard]] bool mount_lying(const std::string& path, std::uint64_t size);
[[nodiscard]] bool remount_read_only(const std::string& path);
/// Within a child: becomes a user without rights, uid and gid 65534.
[[nodiscard]] bool become_nobody();

/// One file to be staged as `below` in `root`.
struct Spec {
    std::string source;
    std::string root;
    std::string below;
    Existing existing = Existing::overwrite;
    bool is_optional = false;
    bool is_temporary = false;
    bool is_unpacked = false;
    bool keeps_owners = true;
    std::string guarded_by{};
    bool skips_devices = false;
    bool is_of_program = false;
};

[[nodiscard]] std::vector<SourceOrder> source_orders(const std::vector<Spec>& specs);
/// For rank `rank` of `size`; lists go to `lists` if it isn't empty.
[[nodiscard]] SinkConfig sink_config(const std::vector<Spec>& specs,
                                     const std::string& lists = "",
                                     std::uint32_t rank = 0,
                                     std::uint32_t size = 2);
/// Returns node_config() whose entries for the cleanup list are added to `listed`.
[[nodiscard]] SinkConfig telling_config(const std::vector<Spec>& specs,
                                        const std::string& lists,
                                        std::vector<std::string>& listed);

/// All blocks of `source`, read in order.
[[nodiscard]] Result<std::vector<std::vector<std::byte>>> blocks_of(BlockSource& source);
/// The blocks of a source with these files.
[[nodiscard]] std::vector<std::vector<std::byte>> object_of(const std::vector<Spec>& specs);
/// Offers all blocks in an order drawn from `seed`, deferred ones again; then finishes.
[[nodiscard]] Status deliver(const std::vector<std::vector<std::byte>>& blocks,
                             BlockSink& sink,
                             std::uint64_t seed);
/// From disk to disk.
[[nodiscard]] Status stage_all(const std::vector<Spec>& specs, std::uint64_t seed = 1);
/// The error message, or "ok".
[[nodiscard]] std::string said(const Status& status);

/// Hands the sink a block with its right digest.
[[nodiscard]] Result<Placing> put(BlockSink& sink, std::uint32_t block, Bytes bytes);

}  // namespace stage::test
