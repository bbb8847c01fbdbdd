#include "stager/daemon/jobs/verdict_store.h"

#include "transport/base/codec.h"
#include "transport/os/descriptors.h"
#include "transport/os/names_in.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace stage {
namespace {

/// Precedes the verdict if another node is to blame, and is followed by that node's rank.
constexpr std::uint32_t kCulpritMark = 0x63756c70U;  // "culp"; no message begins like this.
constexpr std::size_t kCulpritBytes = 6;
constexpr std::size_t kMaxFileBytes = kMaxMessageBytes + kCulpritBytes;

std::string name_of(const StageKey& key) {
    return std::to_string(key.job_id) + "." + std::to_string(key.step_id) + "." +
           std::to_string(key.restart);
}

std::optional<Rank> culprit_in(Bytes file) {
    ByteReader reader{file};
    const bool is_there = reader.u32() == kCulpritMark;
    const Rank rank{reader.u16()};
    return is_there && reader.ok() ? std::optional{rank} : std::nullopt;
}

std::string root_name(std::uint32_t job_id) {
    return std::to_string(job_id) + ".root";
}

std::optional<StageKey> key_of(const std::string& name) {
    StageKey key;
    int length = -1;
    // NOLINTNEXTLINE(cert-err34-c): a name that does not come back the same is refused below.
    if (std::sscanf(
            name.c_str(), "%u.%u.%u%n", &key.job_id, &key.step_id, &key.restart, &length) !=
            3 ||
        name_of(key) != name) {
        return std::nullopt;
    }
    return key;
}

bool write_all(int fd, Bytes bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(fd, bytes.data(), bytes.size());
        if (count < 0 && errno != EINTR) {
            return false;
        }
        bytes = bytes.subspan(count > 0 ? static_cast<std::size_t>(count) : 0);
    }
    return true;
}

}  // namespace

Result<VerdictStore> VerdictStore::open(const std::string& directory) {
    if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
        return Error::from_errno(Blame::node, "making " + directory);
    }
    UniqueFd fd{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0) {
        return Error::from_errno(Blame::node, "opening " + directory);
    }
    if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return Error{Blame::node, directory + " can be written by others than root"}.remedy(
            "chown root it and chmod 700 it");
    }
    return VerdictStore{std::move(fd)};
}

Status VerdictStore::replace(const std::string& name, Bytes bytes) {
    const Status written = write(name, bytes);
    if (!written) {
        // What an earlier file says is not true any more.
        remove(name);
        keep(name, bytes);
        return written;
    }
    unwritten_.erase(name);
    write_kept();
    return {};
}

void VerdictStore::keep(const std::string& name, Bytes bytes) {
    std::size_t all = bytes.size();
    for (const auto& [other, content] : unwritten_) {
        all += content.size();
    }
    if (all <= kUnwrittenMax) {
        unwritten_[name].assign(bytes.begin(), bytes.end());
    }
}

void VerdictStore::write_kept() {
    while (!unwritten_.empty() &&
           write(unwritten_.begin()->first, unwritten_.begin()->second)) {
        unwritten_.erase(unwritten_.begin());
    }
}

void VerdictStore::remove(const std::string& name) {
    static_cast<void>(::unlinkat(directory_.get(), name.c_str(), 0));
    unwritten_.erase(name);
}

Status VerdictStore::write(const std::string& name, Bytes bytes) const {
    const std::string fresh = name + ".new";
    const auto failed = [&] {
        Error why = Error::from_errno(Blame::node, "storing " + name);
        static_cast<void>(::unlinkat(directory_.get(), fresh.c_str(), 0));
        return why;
    };
    {
        const UniqueFd file{::openat(directory_.get(),
                                     fresh.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                                     0600)};
        if (!file || !write_all(file.get(), bytes)) {
            return failed();
        }
    }
    if (::renameat(directory_.get(), fresh.c_str(), directory_.get(), name.c_str()) != 0) {
        return failed();
    }
    return {};
}

std::vector<std::byte> VerdictStore::read(const std::string& name) const {
    if (const auto kept = unwritten_.find(name); kept != unwritten_.end()) {
        return kept->second;
    }
    const UniqueFd file{
        ::openat(directory_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)};
    Result<std::vector<std::byte>> bytes = read_first(file.get(), kMaxFileBytes);
    return bytes ? *std::move(bytes) : std::vector<std::byte>{};
}

Status VerdictStore::save(const StageKey& key,
                          const Verdict& verdict,
                          std::optional<Rank> culprit) {
    ByteWriter file;
    if (culprit) {
        file.u32(kCulpritMark).u16(culprit->value());
    }
    file.raw(encode(Answer{verdict}));
    return replace(name_of(key), file.view());
}

std::optional<Verdict> VerdictStore::load(const StageKey& key) const {
    const std::vector<std::byte> file = read(name_of(key));
    const auto answer =
        decode_answer(culprit_in(file) ? Bytes{file}.subspan(kCulpritBytes) : Bytes{file});
    if (!answer || !std::holds_alternative<Verdict>(*answer)) {
        return std::nullopt;
    }
    return std::get<Verdict>(*answer);
}

std::optional<Rank> VerdictStore::culprit_of(const StageKey& key) const {
    return culprit_in(read(name_of(key)));
}

void VerdictStore::forget(const StageKey& key) {
    remove(name_of(key));
}

Status VerdictStore::save_root(std::uint32_t job_id, const std::string& root) {
    return replace(root_name(job_id), as_bytes(root));
}

std::optional<std::string> VerdictStore::root_of(std::uint32_t job_id) const {
    const std::vector<std::byte> bytes = read(root_name(job_id));
    std::string root;
    for (const std::byte byte : bytes) {
        root.push_back(static_cast<char>(byte));
    }
    return root.starts_with('/') ? std::optional{std::move(root)} : std::nullopt;
}

void VerdictStore::forget_root(std::uint32_t job_id) {
    remove(root_name(job_id));
}

std::vector<std::string> VerdictStore::names() const {
    std::vector<std::string> all = names_in(directory_.get());
    for (const auto& [name, content] : unwritten_) {
        all.push_back(name);
    }
    return all;
}

std::vector<std::uint32_t> VerdictStore::rooted() const {
    std::vector<std::uint32_t> jobs;
    for (const std::string& name : names()) {
        const auto job_id = static_cast<std::uint32_t>(std::strtoul(name.c_str(), nullptr, 10));
        if (name == root_name(job_id)) {
            jobs.push_back(job_id);
        }
    }
    return jobs;
}

std::vector<StageKey> VerdictStore::all() const {
    std::vector<StageKey> keys;
    for (const std::string& name : names()) {
        if (const auto key = key_of(name)) {
            keys.push_back(*key);
        }
    }
    return keys;
}

}  // namespace stage
