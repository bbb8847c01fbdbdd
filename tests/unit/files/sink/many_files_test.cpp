// Tests that more files can be staged than a process may open.
#include "stager/files/sink/file_sink.h"
#include "tests/unit/files/archives.h"
#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace stage {
namespace {

using Catch::Matchers::Contains;
using test::content_of;
using test::object_of;
using test::said;
using test::Scratch;
using test::Spec;
using test::status_of;
using test::Tar;
using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("more files than descriptors are staged, whatever the order of their blocks") {
    CHECK(test::in_child([] {
              const Scratch from;
              const Scratch to;
              constexpr std::size_t kFiles = 700;
              std::vector<Spec> specs;
              for (std::size_t i = 0; i < kFiles; ++i) {
                  const std::string name = "f" + std::to_string(i);
                  const std::size_t size = i % 50 == 0 ? kBlockBytes + 1 : i % 3;
                  specs.push_back({.source = from.write(name, test::noise(size, i)),
                                   .root = to.path(),
                                   .below = "d" + std::to_string(i % 10) + "/" + name});
                  const bool is_there = i % 7 == 0;  // Is compared.
                  if (is_there) {
                      specs.back().existing = Existing::refuse;
                      to.write(specs.back().below, test::noise(size, i));
                  }
              }
              const rlimit few{.rlim_cur = 600, .rlim_max = 600};
              if (::setrlimit(RLIMIT_NOFILE, &few) != 0) {
                  return std::string{"no limit"};
              }
              if (const Status staged = test::stage_all(specs, 3); !staged) {
                  return staged.error().sentence();
              }
              for (const Spec& spec : specs) {
                  if (content_of(to.path(spec.below)) != content_of(spec.source)) {
                      return spec.below + " differs";
                  }
              }
              return std::string{to.names().size() == kFiles ? "ok" : "leftovers"};
          }) == "ok");
}

TEST_CASE("of many, one that was replaced meanwhile is noticed") {
    const Scratch from;
    const Scratch to;
    std::vector<Spec> specs;
    for (std::size_t i = 0; i < 200; ++i) {
        const std::string name = "f" + std::to_string(i);
        specs.push_back({.source = from.write(name, name), .root = to.path(), .below = name});
    }
    const auto blocks = object_of(specs);
    FileSink sink{test::sink_config(specs)};
    REQUIRE(test::put(sink, 0, blocks[0]));
    const std::string temporary = ".f180.stagecast.";
    for (const std::string& name : to.names()) {
        if (name.starts_with(temporary)) {
            to.write("other", "other");
            REQUIRE(::rename(to.path("other").c_str(), to.path(name).c_str()) == 0);
        }
    }
    const Status delivered = test::deliver(blocks, sink, 1);
    CHECK_THAT(said(delivered), Contains("f180: was removed or replaced while it was staged"));
}

}  // namespace stage
