// Tests whether the doctor tells a plugin that this host's Slurm can't load.
#include "stager/cli/doctor/slurm/plugin_release.h"

#include "tests/unit/scratch.h"

#include <catch2/catch.hpp>

#include <elf.h>

#include <cstring>

using namespace stage;

namespace {

constexpr std::size_t kVariable = 0x400;    ///< The offset of plugin_version in the file,
constexpr std::uint64_t kAddress = 0x2400;  ///< and its address.

template <class Record>
void put(std::string& bytes, std::size_t offset, const Record& record) {
    std::memcpy(bytes.data() + offset, &record, sizeof record);
}

/// A shared object with one symbol.
std::string object_with(const char* name, std::uint32_t value) {
    constexpr std::size_t kSegment = 0x40;
    constexpr std::size_t kSections = 0x80;
    constexpr std::size_t kSymbols = 0x200;
    constexpr std::size_t kNames = 0x300;
    std::string bytes(kVariable + sizeof value, '\0');
    Elf64_Ehdr head{};
    std::memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_phoff = kSegment;
    head.e_phnum = 1;
    head.e_shoff = kSections;
    head.e_shnum = 2;
    put(bytes, 0, head);
    put(bytes,
        kSegment,
        Elf64_Phdr{.p_type = PT_LOAD,
                   .p_flags = PF_R,
                   .p_offset = 0,
                   .p_vaddr = 0x2000,
                   .p_paddr = 0,
                   .p_filesz = bytes.size(),
                   .p_memsz = bytes.size(),
                   .p_align = 0});
    Elf64_Shdr table{};
    table.sh_type = SHT_DYNSYM;
    table.sh_offset = kSymbols;
    table.sh_size = 2 * sizeof(Elf64_Sym);
    table.sh_link = 1;
    put(bytes, kSections, table);
    Elf64_Shdr names{};
    names.sh_type = SHT_STRTAB;
    names.sh_offset = kNames;
    put(bytes, kSections + sizeof table, names);
    Elf64_Sym symbol{};
    symbol.st_name = 1;
    symbol.st_value = kAddress;
    put(bytes, kSymbols + sizeof symbol, symbol);
    std::memcpy(bytes.data() + kNames + 1, name, std::strlen(name));
    put(bytes, kVariable, value);
    return bytes;
}

std::string write(const Scratch& scratch, const std::string& bytes) {
    return scratch.write("stagecast.so", bytes);
}

constexpr std::uint32_t kMadeFor = 22U << 16U | 5U << 8U | 8U;
constexpr SlurmRelease kRelease{.year = 22, .month = 5};

}  // namespace

TEST_CASE("a plugin's release is that of its symbol") {
    const Scratch scratch;
    const auto release =
        release_of_plugin(write(scratch, object_with("plugin_version", kMadeFor)));
    REQUIRE(release);
    CHECK(*release == kRelease);
    CHECK(text_of(*release) == "22.05");
    CHECK_FALSE(release_of_plugin(write(scratch, object_with("plugin_versio", kMadeFor))));
    CHECK_FALSE(release_of_plugin(scratch.path() + "/absent"));
}

TEST_CASE("a plugin that was cut or damaged has no release, and nothing beside it is read") {
    const Scratch scratch;
    const std::string whole = object_with("plugin_version", kMadeFor);
    for (std::size_t length = 0; length < whole.size(); length += 7) {
        CHECK_FALSE(release_of_plugin(write(scratch, whole.substr(0, length))));
    }
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(~damaged[at]);
        static_cast<void>(release_of_plugin(write(scratch, damaged)));
    }
}

TEST_CASE("a release is read from what Slurm's programs print") {
    CHECK(release_in("slurm-wlm 22.05.8\n") == kRelease);
    CHECK(release_in("slurm 24.11.3") == SlurmRelease{.year = 24, .month = 11});
    CHECK(release_in("slurm 25.11.0-0rc1") == SlurmRelease{.year = 25, .month = 11});
    for (const char* const other : {"", "slurm", "slurm x.05", "slurm 22", "bash: slurmd"}) {
        CHECK_FALSE(release_in(other));
    }
}

TEST_CASE("a plugin is wrong where Slurm here can't load it") {
    const Scratch scratch;
    const std::string plugin = write(scratch, object_with("plugin_version", kMadeFor));
    CHECK(judge_plugin(plugin, {.release = kRelease, .slurmd_began_at = {}}).health ==
          Health::fine);
    const Finding other = judge_plugin(
        plugin, {.release = SlurmRelease{.year = 25, .month = 11}, .slurmd_began_at = {}});
    CHECK(other.health == Health::wrong);
    CHECK(other.sentence.find("is made for Slurm 22.05, and Slurm 25.11 here") !=
          std::string::npos);
    CHECK(judge_plugin(plugin, {}).health == Health::unknown);
    CHECK(judge_plugin(plugin, {.release = kRelease, .slurmd_began_at = 1}).health ==
          Health::doubtful);
    CHECK(judge_plugin(write(scratch, "text"), {.release = kRelease, .slurmd_began_at = {}})
              .health == Health::wrong);
}
