// Tests that a lack of space is reported before any data.
#include "stager/files/sink/file_sink.h"
#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <functional>
#include <optional>

namespace stage {

using Catch::Matchers::Contains;
using test::said;
using test::Scratch;
using test::Spec;

namespace {

/// The result of `work` on a file system of that size; nothing where mounts are not possible.
std::optional<std::string> on_small(const Scratch& to,
                                    std::uint64_t bytes,
                                    const std::function<std::string()>& work) {
    constexpr const char* kNoMounts = "no mounts";
    const std::string answer = test::in_child([&]() -> std::string {
        return test::mount_small(to.path("small"), bytes) ? work() : kNoMounts;
    });
    if (answer == kNoMounts) {
        WARN("needs root for a small file system");
        return std::nullopt;
    }
    return answer;
}

}  // namespace

TEST_CASE("a disk that is too small is reported before data, by name and need") {
    const Scratch from;
    const std::string source = from.write("a", test::noise(3 * kBlockBytes));
    const Scratch to;
    const auto answer = on_small(to, 2U << 20U, [&] {
        auto opened = FileSource::open(
            test::source_orders({{.source = source, .root = {}, .below = {}}}), 0);
        std::vector<std::byte> room(kBlockBytes);
        const auto manifest = (*opened)->read(BlockIndex{0}, room);
        FileSink sink{
            test::sink_config({{.source = source, .root = to.path("small"), .below = "x"}})};
        const auto placing = test::put(sink, 0, Bytes{room}.first(manifest->length));
        return placing ? "placed" : placing.error().sentence();
    });
    if (answer) {
        CHECK_THAT(*answer, Contains(to.path("small/x") + ": No space left on device"));
        CHECK_THAT(*answer, Contains("3.0 MiB are needed"));
    }
}

TEST_CASE("two files that fit only separately are refused together") {
    const Scratch from;
    const Scratch to;
    const std::string small = to.path("small");
    const auto answer = on_small(to, 3U << 20U, [&] {
        const std::string one = from.write("a", test::noise(2U << 20U));
        return said(test::stage_all({{.source = one, .root = small, .below = "x"},
                                     {.source = one, .root = small, .below = "y"}}));
    });
    if (answer) {
        CHECK_THAT(*answer, Contains("y: No space left on device"));
    }
}

TEST_CASE("optional files get the room that the others leave, whatever their order") {
    const Scratch from;
    const Scratch to;
    const std::string small = to.path("small");
    const auto answer = on_small(to, 3U << 20U, [&] {
        const std::string large = from.write("a", test::noise(2U << 20U));
        const std::vector<Spec> specs{
            {.source = large, .root = small, .below = "x", .is_optional = true},
            {.source = large, .root = small, .below = "y"},
            {.source = from.write("b", "b"), .root = small, .below = "z", .is_optional = true}};
        FileSink sink{test::sink_config(specs)};
        const std::string said_of_all = said(test::deliver(test::object_of(specs), sink, 1));
        if (sink.warnings().size() != 1) {
            return said_of_all;
        }
        return said_of_all + ' ' + sink.path(0) + ' ' + sink.path(1) + ' ' + sink.path(2) +
               ' ' + sink.warnings()[0].sentence();
    });
    if (answer) {
        CHECK_THAT(*answer,
                   Contains("ok  " + small + "/y " + small + "/z " + small + "/x: No space"));
    }
}

}  // namespace stage
