#pragma once

class QQmlApplicationEngine;

namespace waste::app {

// `--self-test`: compiles every QML file of the program, shows the window once, and turns every warning of
// the QML engine into a failure. The program's exit code.
int runSelfTest(QQmlApplicationEngine& engine);

} // namespace waste::app
