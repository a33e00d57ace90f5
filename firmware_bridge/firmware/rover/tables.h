/* Made by sims/farm_rover/firmware_tables.py from the registered world farm_rover: do not edit. */
#ifndef TABLES_H
#define TABLES_H

#include <avr/pgmspace.h>
#include <stdint.h>

enum { ARGUMENT_NUMBER, ARGUMENT_TEXT };
enum { ARGUMENT_REQUIRED = 1, ARGUMENT_ABOVE_MIN = 2 };

struct argument {
    char name[24];
    uint8_t type;
    uint8_t flags;
    float min, max, preset;
};

struct tool {
    char name[24];
    uint8_t argument_count;
    struct argument arguments[3];
};

struct place {
    char name[24];
    float x, y, yaw;
};

struct box {
    float x_min, x_max, y_min, y_max;
};

struct disc {
    float x, y, radius;
};

struct point {
    float x, y;
};

#define DEVICE_NAME "farm_rover"

enum {
    TOOL_UNLOCK_SAFETY_MODE,
    TOOL_LOCK_SAFETY_MODE,
    TOOL_MOVE_TO,
    TOOL_MOVE_HOME,
    TOOL_WATER_PLANT,
    TOOL_SPRAY_PESTICIDE,
    TOOL_HARVEST_FRUIT,
    TOOL_DUMP_HOPPER,
    TOOL_REFILL_WATER_TANK,
    TOOL_REFILL_PESTICIDE,
    TOOL_RECHARGE,
    TOOL_SENSE_POSE,
    TOOL_SENSE_BATTERY,
    TOOL_SENSE_HOPPER,
    TOOL_LIST_PLANTS,
    TOOL_SCAN_PLANT,
    TOOL_SCAN_PEOPLE,
    TOOL_GET_PLANT_POSE,
    TOOL_GET_STATION_POSE,
    TOOL_WAIT,
    TOOL_COUNT,
};

enum {
    STATION_BASE,
    STATION_COLLECTION_BIN,
    STATION_WATER_STATION,
    STATION_PESTICIDE_REFILL,
    STATION_CHARGING_PAD,
    STATION_COUNT,
};

extern const struct tool tools[TOOL_COUNT];
#ifdef DEFINE_TABLES
const struct tool tools[TOOL_COUNT] PROGMEM = {
    {"unlock_safety_mode", 0, {{{0}, 0, 0, 0.0f, 0.0f, 0.0f}}},
    {"lock_safety_mode", 0, {{{0}, 0, 0, 0.0f, 0.0f, 0.0f}}},
    {"move_to", 3, {{"x", ARGUMENT_NUMBER, ARGUMENT_REQUIRED, -1000.0f, 1000.0f, 0.0f}, {"y", ARGUMENT_NUMBER, ARGUMENT_REQUIRED, -1000.0f, 1000.0f, 0.0f}, {"yaw", ARGUMENT_NUMBER, 0, -6.28318531f, 6.28318531f, 0.0f}}},
    {"move_home", 0, {{{0}, 0, 0, 0.0f, 0.0f, 0.0f}}},
    {"water_plant", 2, {{"plant_id", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 0.0f, 0.0f, 0.0f}, {"liters", ARGUMENT_NUMBER, ARGUMENT_REQUIRED | ARGUMENT_ABOVE_MIN, 0.0f, 20.0f, 0.0f}}},
    {"spray_pesticide", 2, {{"plant_id", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 0.0f, 0.0f, 0.0f}, {"ml", ARGUMENT_NUMBER, ARGUMENT_REQUIRED | ARGUMENT_ABOVE_MIN, 0.0f, 1000.0f, 0.0f}}},
    {"harvest_fruit", 1, {{"plant_id", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 0.0f, 0.0f, 0.0f}}},
    {"dump_hopper", 0, {{{0}, 0, 0, 0.0f, 0.0f, 0.0f}}},
    {"refill_water_tank", 0, {{{0}, 0, 0, 0.0f, 0.0f, 0.0f}}},
    {"refill_pesticide", 0, {{{0}, 0, 0, 0.0f, 0.0f, 0.0f}}},
    {"recharge", 0, {{{0}, 0, 0, 0.0f, 0.0f, 0.0f}}},
    {"sense_pose", 0, {{{0}, 0, 0, 0.0f, 0.0f, 0.0f}}},
    {"sense_battery", 0, {{{0}, 0, 0, 0.0f, 0.0f, 0.0f}}},
    {"sense_hopper", 0, {{{0}, 0, 0, 0.0f, 0.0f, 0.0f}}},
    {"list_plants", 0, {{{0}, 0, 0, 0.0f, 0.0f, 0.0f}}},
    {"scan_plant", 1, {{"plant_id", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 0.0f, 0.0f, 0.0f}}},
    {"scan_people", 0, {{{0}, 0, 0, 0.0f, 0.0f, 0.0f}}},
    {"get_plant_pose", 1, {{"plant_id", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 0.0f, 0.0f, 0.0f}}},
    {"get_station_pose", 1, {{"station_name", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 0.0f, 0.0f, 0.0f}}},
    {"wait", 1, {{"seconds", ARGUMENT_NUMBER, ARGUMENT_REQUIRED | ARGUMENT_ABOVE_MIN, 0.0f, 600.0f, 0.0f}}},
};
#endif

enum check {
    CHECK_UNLOCKED,
    CHECK_INSIDE_FIELD,
    CHECK_HAS_ROUTE,
    CHECK_CHARGE_FOR_DRIVE,
    CHECK_KNOWN_PLANT,
    CHECK_WITHIN_REACH,
    CHECK_ENOUGH_WATER,
    CHECK_CHARGE_FOR_WATER,
    CHECK_ENOUGH_PESTICIDE,
    CHECK_CHARGE_FOR_PESTICIDE,
    CHECK_RIPE_FRUIT,
    CHECK_ROOM_IN_HOPPER,
    CHECK_KNOWN_STATION,
    CHECK_COUNT,
};

#define CHECKS_MAX 6
extern const uint8_t interlocks[TOOL_COUNT][CHECKS_MAX];
#ifdef DEFINE_TABLES
const uint8_t interlocks[TOOL_COUNT][CHECKS_MAX] PROGMEM = {
    {CHECK_COUNT},
    {CHECK_COUNT},
    {CHECK_UNLOCKED, CHECK_INSIDE_FIELD, CHECK_HAS_ROUTE, CHECK_CHARGE_FOR_DRIVE, CHECK_COUNT},
    {CHECK_UNLOCKED, CHECK_INSIDE_FIELD, CHECK_HAS_ROUTE, CHECK_CHARGE_FOR_DRIVE, CHECK_COUNT},
    {CHECK_KNOWN_PLANT, CHECK_UNLOCKED, CHECK_WITHIN_REACH, CHECK_ENOUGH_WATER, CHECK_CHARGE_FOR_WATER, CHECK_COUNT},
    {CHECK_KNOWN_PLANT, CHECK_UNLOCKED, CHECK_WITHIN_REACH, CHECK_ENOUGH_PESTICIDE, CHECK_CHARGE_FOR_PESTICIDE, CHECK_COUNT},
    {CHECK_KNOWN_PLANT, CHECK_UNLOCKED, CHECK_WITHIN_REACH, CHECK_RIPE_FRUIT, CHECK_ROOM_IN_HOPPER, CHECK_COUNT},
    {CHECK_UNLOCKED, CHECK_WITHIN_REACH, CHECK_COUNT},
    {CHECK_UNLOCKED, CHECK_WITHIN_REACH, CHECK_COUNT},
    {CHECK_UNLOCKED, CHECK_WITHIN_REACH, CHECK_COUNT},
    {CHECK_UNLOCKED, CHECK_WITHIN_REACH, CHECK_COUNT},
    {CHECK_COUNT},
    {CHECK_COUNT},
    {CHECK_COUNT},
    {CHECK_COUNT},
    {CHECK_KNOWN_PLANT, CHECK_COUNT},
    {CHECK_COUNT},
    {CHECK_KNOWN_PLANT, CHECK_COUNT},
    {CHECK_KNOWN_STATION, CHECK_COUNT},
    {CHECK_COUNT},
};
#endif

extern const uint8_t station_of[TOOL_COUNT];
#ifdef DEFINE_TABLES
const uint8_t station_of[TOOL_COUNT] PROGMEM = {
    STATION_COUNT,
    STATION_COUNT,
    STATION_COUNT,
    STATION_COUNT,
    STATION_COUNT,
    STATION_COUNT,
    STATION_COUNT,
    STATION_COLLECTION_BIN,
    STATION_WATER_STATION,
    STATION_PESTICIDE_REFILL,
    STATION_CHARGING_PAD,
    STATION_COUNT,
    STATION_COUNT,
    STATION_COUNT,
    STATION_COUNT,
    STATION_COUNT,
    STATION_COUNT,
    STATION_COUNT,
    STATION_COUNT,
    STATION_COUNT,
};
#endif

#define PLANT_COUNT 4
extern const struct place plants[PLANT_COUNT];
#ifdef DEFINE_TABLES
const struct place plants[PLANT_COUNT] PROGMEM = {
    {"plant_A", 2.0f, 14.0f, 0.0f},
    {"plant_B", 3.5f, 12.5f, 0.0f},
    {"plant_C", 14.0f, 8.5f, 0.0f},
    {"plant_D", 16.5f, 15.0f, 0.0f},
};
#endif

extern const struct place stations[STATION_COUNT];
#ifdef DEFINE_TABLES
const struct place stations[STATION_COUNT] PROGMEM = {
    {"base", 5.0f, 5.0f, 0.0f},
    {"collection_bin", 6.0f, 18.0f, 0.0f},
    {"water_station", 18.5f, 2.0f, 0.0f},
    {"pesticide_refill", 18.0f, 18.0f, 0.0f},
    {"charging_pad", 1.0f, 1.0f, 0.0f},
};
#endif

#define BED_COUNT 2
extern const struct box beds[BED_COUNT];
#ifdef DEFINE_TABLES
const struct box beds[BED_COUNT] PROGMEM = {
    {8.0f, 13.0f, 12.0f, 12.8f},
    {8.5f, 13.0f, 5.0f, 5.8f},
};
#endif

#define OBSTACLE_COUNT 4
extern const struct disc obstacles[OBSTACLE_COUNT];
#ifdef DEFINE_TABLES
const struct disc obstacles[OBSTACLE_COUNT] PROGMEM = {
    {9.0f, 16.2f, 0.5f},
    {8.5f, 9.2f, 0.8f},
    {16.5f, 11.5f, 0.6f},
    {3.0f, 8.5f, 0.4f},
};
#endif

#define CORNER_COUNT 40
extern const struct point corners[CORNER_COUNT];
#ifdef DEFINE_TABLES
const struct point corners[CORNER_COUNT] PROGMEM = {
    {7.45f, 11.45f},
    {7.45f, 13.35f},
    {13.55f, 11.45f},
    {13.55f, 13.35f},
    {7.95f, 4.45f},
    {7.95f, 6.35f},
    {13.55f, 4.45f},
    {13.55f, 6.35f},
    {10.05f, 16.6349242f},
    {9.43492424f, 17.25f},
    {8.56507576f, 17.25f},
    {7.95f, 16.6349242f},
    {7.95f, 15.7650758f},
    {8.56507576f, 15.15f},
    {9.43492424f, 15.15f},
    {10.05f, 15.7650758f},
    {9.85f, 9.75918831f},
    {9.05918831f, 10.55f},
    {7.94081169f, 10.55f},
    {7.15f, 9.75918831f},
    {7.15f, 8.64081169f},
    {7.94081169f, 7.85f},
    {9.05918831f, 7.85f},
    {9.85f, 8.64081169f},
    {17.65f, 11.9763456f},
    {16.9763456f, 12.65f},
    {16.0236544f, 12.65f},
    {15.35f, 11.9763456f},
    {15.35f, 11.0236544f},
    {16.0236544f, 10.35f},
    {16.9763456f, 10.35f},
    {17.65f, 11.0236544f},
    {3.95f, 8.89350288f},
    {3.39350288f, 9.45f},
    {2.60649712f, 9.45f},
    {2.05f, 8.89350288f},
    {2.05f, 8.10649712f},
    {2.60649712f, 7.55f},
    {3.39350288f, 7.55f},
    {3.95f, 8.10649712f},
};
#endif

#define FIELD_WIDTH 20.0f
#define FIELD_HEIGHT 20.0f
#define START_X 5.0f
#define START_Y 5.0f
#define START_YAW 0.0f
#define CLEARANCE 0.55f
#define REACH 1.0f
#define SPEED 1.0f
#define ACCELERATION 0.5f
#define TURN_RATE 1.0f
#define TURN_ACCELERATION 2.0f
#define DRIVE_CHARGE_PER_M 0.001f
#define PUMP_CHARGE_PER_S 0.0001f
#define CHARGING_PER_S 0.01f
#define WATER_FLOW 0.1f
#define PESTICIDE_FLOW 5.0f
#define HARVEST_S 20.0f
#define DUMP_S 10.0f
#define SWITCH_S 0.5f
#define READ_S 0.2f
#define PEOPLE_SCAN_S 2.0f
#define WATER_CAPACITY 5.0f
#define WATER_REFILL_PER_S 0.25f
#define WATER_LOW 0.4f
#define PESTICIDE_CAPACITY 250.0f
#define PESTICIDE_REFILL_PER_S 10.0f
#define PESTICIDE_LOW 25.0f
#define MOISTURE_WET 0.22f
#define MOISTURE_HYSTERESIS 0.03f
#define MOISTURE_PERIOD_S 60.0f
#define HOPPER_CAPACITY 2

#endif
