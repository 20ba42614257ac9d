// waste_wide_container: makes a container with the layer widths of a release and random weights, for measuring.

#include "support/wide_container/wide_container.h"

#include <charconv>
#include <cstdio>
#include <string_view>

namespace {

using waste::test::WideFamily;
using waste::test::WideModel;

int usage()
{
    std::fputs("usage: waste_wide_container DIRECTORY.waste [OPTION VALUE]...\n"
               "  --family kimi-linear|k3    whose layer widths (default kimi-linear)\n"
               "  --layers N                 the first is dense, the others have experts (default 4)\n"
               "  --experts N                a layer (default: as released, 256 or 896)\n"
               "  --vocabulary N             (default 163840)\n"
               "  --format vq3r|vq4p|vq2r    of the experts (default vq3r)\n"
               "  --seed N                   (default 1)\n",
        stderr);
    return 2;
}

template<typename Number>
bool readNumber(std::string_view text, Number& number)
{
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
}

bool readOption(std::string_view name, std::string_view value, WideModel& model)
{
    if (name == "--layers")
        return readNumber(value, model.layerCount);
    if (name == "--experts")
        return readNumber(value, model.expertCount);
    if (name == "--vocabulary")
        return readNumber(value, model.vocabularySize);
    if (name == "--seed")
        return readNumber(value, model.seed);
    if (name == "--family") {
        model.family = value == "k3" ? WideFamily::KimiK3 : WideFamily::KimiLinear;
        return value == "k3" || value == "kimi-linear";
    }
    if (name == "--format") {
        model.expertFormat = value == "vq4p" ? waste::ExpertFormat::Vq4p
            : value == "vq2r"                ? waste::ExpertFormat::Vq2r
                                             : waste::ExpertFormat::Vq3r;
        return value == "vq3r" || value == "vq4p" || value == "vq2r";
    }
    return false;
}

} // namespace

int main(int argc, char** argv)
{
    if (argc < 2 || argc % 2 != 0 || argv[1][0] == '-')
        return usage();
    WideModel model;
    for (int i = 2; i + 1 < argc; i += 2)
        if (!readOption(argv[i], argv[i + 1], model))
            return usage();
    if (const auto status = waste::test::writeWideContainer(argv[1], model); !status) {
        std::fprintf(stderr, "waste_wide_container: %s\n", status.error().message.c_str());
        return 1;
    }
    return 0;
}
