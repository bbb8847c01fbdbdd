#include "stager/cli/common/command_line.h"

#include "stager/control/message.h"
#include "transport/base/written_value.h"

#include <getopt.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace stage {
namespace {

struct GetoptTables {
    std::string letters = ":";  ///< The ':' distinguishes a missing value.
    std::vector<option> names;
};

GetoptTables tables_of(std::span<const OptionName> known) {
    GetoptTables tables;
    for (const OptionName& one : known) {
        if (one.letter != 0) {
            tables.letters += one.letter;
            tables.letters += one.has_value ? ":" : "";
        }
        tables.names.push_back({.name = one.name,
                                .has_arg = one.has_value ? required_argument : no_argument,
                                .flag = nullptr,
                                .val = 0});
    }
    tables.names.push_back({});
    return tables;
}

Error unknown_option(const std::string& name, std::span<const OptionName> known) {
    std::vector<std::string_view> names;
    for (const OptionName& one : known) {
        names.emplace_back(one.name);
    }
    const std::string_view like =
        name.starts_with("--") ? nearest(name.substr(2), names) : std::string_view{};
    return Error{Blame::user, "there is no option " + printable(name)}.remedy(
        like.empty() ? "--help lists them" : "do you mean --" + std::string{like} + '?');
}

/// The word at which getopt_long() stopped: a letter, or, where that is 0, the long option
/// `word`.
Error wrong_option(int said, const std::string& word, std::span<const OptionName> known) {
    const std::string name = ::optopt != 0 ? "-" + std::string(1, static_cast<char>(::optopt))
                                           : word.substr(0, word.find('='));
    if (said == ':') {
        return Error{Blame::user, printable(name) + " needs a value"}.remedy("see --help");
    }
    const auto likes = std::ranges::count_if(known, [&](const OptionName& one) {
        return ::optopt == 0 && ("--" + std::string{one.name}).starts_with(name);
    });
    if (likes > 1) {
        return Error{Blame::user, printable(name) + " is short for several options"}.remedy(
            "--help lists them");
    }
    return likes == 1 ? Error{Blame::user, printable(name) + " takes no value"}
                      : unknown_option(name, known);
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> names) {
    std::string_view best;
    std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
    for (const std::string_view name : names) {
        if (const std::size_t away = edit_distance(word, name); away < least) {
            least = away;
            best = name;
        }
    }
    return best;
}

Result<CommandLine> read_command_line(std::span<char* const> words,
                                      std::span<const OptionName> known) {
    const GetoptTables tables = tables_of(known);
    std::string program = "stagecast";
    std::vector<char*> argv{program.data()};
    argv.insert(argv.end(), words.begin(), words.end());
    argv.push_back(nullptr);
    const int argc = static_cast<int>(argv.size()) - 1;
    CommandLine line;
    ::optind = 0;  // glibc: resets the parser's state.
    ::opterr = 0;
    for (;;) {
        int index = 0;
        const int said =  // NOLINTNEXTLINE(concurrency-mt-unsafe)
            ::getopt_long(
                argc, argv.data(), tables.letters.c_str(), tables.names.data(), &index);
        if (said == -1) {
            break;
        }
        if (said == '?' || said == ':') {
            return wrong_option(said, argv[static_cast<std::size_t>(::optind - 1)], known);
        }
        const auto found = said == 0 ? known.begin() + index
                                     : std::ranges::find(known, said, &OptionName::letter);
        if (found != known.end()) {
            line.options.push_back({found->name, found->has_value ? ::optarg : ""});
        }
    }
    for (int i = ::optind; i < argc; ++i) {
        line.operands.emplace_back(argv[static_cast<std::size_t>(i)]);
    }
    return line;
}

bool finish_output(const char* program) {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) {
        return true;
    }
    const std::string why = Error::from_errno(Blame::user, "standard output").sentence();
    static_cast<void>(std::fprintf(stderr, "%s: %s\n", program, why.c_str()));
    return false;
}

}  // namespace stage
