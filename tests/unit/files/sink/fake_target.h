// Stands in for a target in tests of a sink's parts, which need no disk.
#pragma once

#include "stager/files/manifest/manifest.h"
#include "stager/files/target/target.h"
#include "stager/files/targets/sink_targets.h"

#include <fcntl.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace stage::test {

/// What the targets of one test did, in order: "begin /d/a".
using Deeds = std::vector<std::string>;

class FakeTarget final : public Target {
  public:
    struct Script {
        bool fails_to_begin = false;
        bool fails_to_write = false;
        bool is_directory = false;
        bool is_left = false;
        TargetNeeds needs{};
        std::uint64_t free_bytes = 0;
        std::vector<Digest128> noted{};
        std::string reads{};    ///< What reading() opens; empty: nothing.
        std::string lies_in{};  ///< What directory() has open; empty: nothing.
    };
    FakeTarget(std::string path, Deeds& deeds, Script script)
        : path_{std::move(path)}, deeds_{deeds}, script_{std::move(script)} {
        directory_.free_bytes = script_.free_bytes;
        if (!script_.lies_in.empty()) {
            directory_.fd = UniqueFd{::open(script_.lies_in.c_str(), O_PATH | O_CLOEXEC)};
        }
    }
    FakeTarget(std::string path, Deeds& deeds) : FakeTarget{std::move(path), deeds, Script{}} {}

    [[nodiscard]] TargetNeeds needs() const override { return script_.needs; }
    [[nodiscard]] const TargetDirectory& directory() const override { return directory_; }
    [[nodiscard]] std::string path() const override { return path_; }
    [[nodiscard]] std::string temporary_path() const override { return path_ + ".part"; }
    [[nodiscard]] bool is_left() const override { return script_.is_left; }
    [[nodiscard]] int descriptor() const override { return -1; }
    [[nodiscard]] bool is_directory() const override { return script_.is_directory; }
    [[nodiscard]] UniqueFd reading() const override {
        return script_.reads.empty()
                   ? UniqueFd{}
                   : UniqueFd{::open(script_.reads.c_str(), O_RDONLY | O_CLOEXEC)};
    }
    [[nodiscard]] bool is_noted() const override { return !script_.reads.empty(); }
    [[nodiscard]] std::vector<Digest128> noted() const override { return script_.noted; }
    void rest() override { deeds_.push_back("rest " + path_); }
    [[nodiscard]] Status begin() override {
        deeds_.push_back("begin " + path_);
        return script_.fails_to_begin ? Status{Error{Blame::user, path_ + ": no"}} : Status{};
    }
    [[nodiscard]] Result<Placing> write(std::uint64_t offset, Bytes bytes) override {
        if (script_.fails_to_write) {
            return Error{Blame::user, path_ + ": no"};
        }
        bytes_.resize(std::max<std::size_t>(bytes_.size(), offset + bytes.size()));
        std::ranges::copy(bytes, bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
        return Placing::placed;
    }
    [[nodiscard]] Status read_back(std::uint64_t offset, MutableBytes room) override {
        if (offset + room.size() > bytes_.size()) {
            return Error{Blame::internal, "short"};
        }
        std::copy_n(
            bytes_.begin() + static_cast<std::ptrdiff_t>(offset), room.size(), room.begin());
        return {};
    }
    [[nodiscard]] Status settle() override { return {}; }
    [[nodiscard]] Status appear() override {
        deeds_.push_back("appear " + path_);
        return {};
    }

  private:
    std::string path_;
    Deeds& deeds_;
    Script script_;
    TargetDirectory directory_;
    std::vector<std::byte> bytes_;
};

/// Does what set_order() and put() of a stage in "/stage" do; the file is `path`, of spec 0.
inline void put_fake(SinkTargets& targets,
                     std::size_t index,
                     const std::string& path,
                     Deeds& deeds,
                     const SinkOrder& order = {},
                     FakeTarget::Script script = {}) {
    SinkOrder whole = order;
    whole.target.place.root = path.substr(0, path.rfind('/'));
    targets.set_order(index, whole, 0, "/stage");
    static_cast<void>(targets.claim(path));
    targets.put(index, std::make_unique<FakeTarget>(path, deeds, std::move(script)));
}

/// A manifest of one file of each of these sizes.
inline Manifest manifest_of(const std::vector<std::uint64_t>& sizes) {
    Manifest manifest;
    for (const std::uint64_t size : sizes) {
        ManifestEntry& entry = manifest.entries.emplace_back();
        entry.name = "f";
        entry.size = size;
    }
    static_cast<void>(manifest.lay_out());
    return manifest;
}

}  // namespace stage::test
