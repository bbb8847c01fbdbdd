#include "transport/base/invariant.h"

#include <cstdio>
#include <cstdlib>

namespace stage {
namespace {

void print_and_abort(const char* truth, CallSite site) {
    static_cast<void>(
        std::fprintf(stderr, "stagecast: broken: %s (%s:%d)\n", truth, site.file, site.line));
    std::abort();
}

/// One static: an invariant has no parameters to carry a handler through.
InvariantHandler& handler() {
    static InvariantHandler current = print_and_abort;
    return current;
}

}  // namespace

void set_invariant_handler(InvariantHandler replacement) {
    handler() = replacement;
}

void invariant_failed(const char* truth, CallSite site) {
    handler()(truth, site);
    std::abort();
}

}  // namespace stage
