#include "stager/spawn/own_children.h"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

namespace stage {

std::vector<pid_t> own_children() {
    const std::string self = std::to_string(::getpid());
    std::ifstream list{"/proc/self/task/" + self + "/children"};
    return {std::istream_iterator<pid_t>{list}, std::istream_iterator<pid_t>{}};
}

}  // namespace stage
